/**
 * Raw output of one run on disk: two files of JSON lines, of which the older one is replaced by the newer one once that is full.
 *
 * Guarantees: private to the user, and at most `MAX_RUN_BYTES` together. Each file begins with the number of bytes of stdout before it, so that a
 * reader learns what is left out. A record that a crash cut off or damaged is not read, nor what follows it.
 *
 * Does not: flush to the disk.
 */
import type { RawRecord } from "@corral/domain/run/RawOutput"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { appendFileSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs"
import { join } from "node:path"

export const MAX_RUN_BYTES = 8_388_608
const MAX_FILE_BYTES = MAX_RUN_BYTES / 2

const objectOf = (line: string | undefined): object | undefined => {
  try {
    const value: unknown = line === undefined ? undefined : JSON.parse(line)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The lines before the first one that is not whole. */
const linesOf = (path: string): ReadonlyArray<string> => {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch {
    return []
  }
  const lines = text.split(/(?<=\n)/)
  const damaged = lines.findIndex((line) => !line.endsWith("\n") || objectOf(line) === undefined)
  return damaged === -1 ? lines : lines.slice(0, damaged)
}

const field = (line: string | undefined, name: "from" | "end"): number | undefined => {
  const value: unknown = Reflect.get(objectOf(line) ?? {}, name)
  return typeof value === "number" ? value : undefined
}

export class RawFile {
  readonly #path: string
  readonly #older: string
  #bytes = 0
  #olderBytes = 0

  constructor(folder: string, name: string) {
    this.#path = join(folder, `${name}.jsonl`)
    this.#older = join(folder, `${name}.older.jsonl`)
  }

  get bytes(): number {
    return this.#bytes + this.#olderBytes
  }

  /**
   * Drops what was written after the last record with a known position, and returns that position; 0 for nothing. A next Edge writes the same
   * output again from there on.
   */
  resume(): number {
    for (let attempt = 0; attempt < 2; attempt++) {
      const lines = linesOf(this.#path)
      const last = lines.findLastIndex((line) => field(line, "end") !== undefined)
      if (last !== -1) {
        this.#bytes = Buffer.byteLength(lines.slice(0, last + 1).join(""))
        truncateSync(this.#path, this.#bytes)
        this.#olderBytes = Buffer.byteLength(linesOf(this.#older).join(""))
        return field(lines[last], "end") ?? 0
      }
      rmSync(this.#path, { force: true })
      try {
        renameSync(this.#older, this.#path)
      } catch {
        return 0
      }
    }
    return 0
  }

  /** Appends records. `from`: bytes of stdout before them. Throws if the disk refuses it. */
  append(records: ReadonlyArray<RawRecord>, from: number): void {
    let text = records.map((record) => `${JSON.stringify(record)}\n`).join("")
    if (this.#bytes > 0 && this.#bytes + Buffer.byteLength(text) > MAX_FILE_BYTES) {
      renameSync(this.#path, this.#older)
      this.#olderBytes = this.#bytes
      this.#bytes = 0
    }
    if (this.#bytes === 0) text = `${JSON.stringify({ from })}\n${text}`
    appendFileSync(this.#path, text, { mode: 0o600 })
    this.#bytes += Buffer.byteLength(text)
  }

  /** The records as text, oldest first; `undefined` if there are none. */
  read(): string | undefined {
    const [older, newer] = [linesOf(this.#older), linesOf(this.#path)]
    const [first = "", ...lines] = older.length > 0 ? [...older, ...newer.slice(1)] : newer
    if (lines.length === 0) return undefined
    const leftOut = field(first, "from") ?? 0
    return `${leftOut > 0 ? `${JSON.stringify({ leftOut } satisfies RawRecord)}\n` : ""}${lines.join("")}`
  }

  delete(): void {
    for (const path of [this.#older, this.#path]) rmSync(path, { force: true })
    this.#bytes = 0
    this.#olderBytes = 0
  }
}
