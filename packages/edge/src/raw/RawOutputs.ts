/**
 * Raw outputs of runs, for authors of adapters: kept only if the setting says so, private to the user and on this machine only. Those of one run
 * are two files of JSON lines, of which the older one is replaced by the newer one once that is full.
 *
 * Guarantees: at most `MAX_BYTES` together, of which the oldest runs' are deleted first, and at most `MAX_RUN_BYTES` for a run. Each file begins
 * with the number of bytes of stdout before it, so that a reader learns what is left out. A record that a crash cut off or damaged is not read, nor
 * what follows it. A disk that refuses a record ends the recording of its run and not the run. Without the setting nothing is written; what was
 * kept before is still read, and deleted with its run.
 *
 * Does not: flush to the disk.
 */
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { keepFolderPrivate } from "../process/PrivateFolder.ts"
import { RawRun, type RawRunOptions } from "./RawRun.ts"
import { NotFound } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { Clock, Context, Effect, Layer } from "effect"
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync
} from "node:fs"
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

/** Raw output of one run on disk: two files of JSON lines, of which the older one is replaced by the newer one once that is full. */
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

const MAX_BYTES = 268_435_456

const NOTHING =
  "No raw output of this run is kept. An Edge keeps it for runs that start while CORRAL_EDGE_RAW_OUTPUT is keep, and deletes the oldest."

export class RawOutputs extends Context.Service<
  RawOutputs,
  {
    /** Records the output of a run, also of one that an earlier Edge has begun to record; `undefined` without the setting. */
    readonly record: (runId: RunId, secrets: RawRunOptions["secrets"]) => RawRun | undefined
    /** The records of a run as JSON lines. */
    readonly read: (runId: RunId) => Effect.Effect<string, NotFound>
    readonly forgetRun: (runId: RunId) => Effect.Effect<void>
  }
>()("corral/edge/raw/RawOutputs") {
  static readonly layer = (maxBytes = MAX_BYTES) =>
    Layer.effect(
      RawOutputs,
      Effect.flatMap(EdgeConfig, ({ home, rawOutput }) =>
        make(join(home, "raw"), rawOutput === "keep", maxBytes)
      )
    )
}

/** Files of all runs that have any, oldest run first, with their sizes: ids of runs sort by time. */
class RawFolder {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #files = new Map<string, RawFile>()
  readonly #sizes = new Map<string, number>()
  #total = 0

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    keepFolderPrivate(folder)
    for (const name of readdirSync(folder).toSorted())
      this.#resize(name.split(".", 1)[0] ?? "", statSync(join(folder, name)).size)
  }

  /** Bytes of stdout that an earlier Edge has written. */
  resume(runId: string): number {
    const end = this.#fileOf(runId).resume()
    this.#measure(runId)
    return end
  }

  append(runId: string, records: ReadonlyArray<RawRecord>, from: number): void {
    this.#fileOf(runId).append(records, from)
    this.#measure(runId)
  }

  #fileOf(runId: string): RawFile {
    const file = this.#files.get(runId) ?? new RawFile(this.#folder, runId)
    this.#files.set(runId, file)
    return file
  }

  /** Counts what the run's files have now, and deletes those of the oldest other runs while all have too much. */
  #measure(runId: string): void {
    this.#resize(runId, this.#fileOf(runId).bytes - (this.#sizes.get(runId) ?? 0))
    for (const oldest of this.#sizes.keys()) {
      if (this.#total <= this.#maxBytes) return
      if (oldest !== runId) this.delete(oldest)
    }
  }

  delete(runId: string): void {
    this.#fileOf(runId).delete()
    this.#files.delete(runId)
    this.#resize(runId, -(this.#sizes.get(runId) ?? 0))
    this.#sizes.delete(runId)
  }

  #resize(runId: string, by: number): void {
    this.#sizes.set(runId, (this.#sizes.get(runId) ?? 0) + by)
    this.#total += by
  }
}

const make = Effect.fnUntraced(function* (folder: string, isKept: boolean, maxBytes: number) {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const files = isKept ? new RawFolder(folder, maxBytes) : undefined

  const sinkOf = (files: RawFolder, runId: RunId): RawRunOptions["sink"] => {
    let isBroken = false
    const attempt = <A>(use: () => A): A | undefined => {
      try {
        return isBroken ? undefined : use()
      } catch (cause) {
        isBroken = true
        fork(Effect.logWarning("failed to write the raw output of a run", { runId, cause }))
        return undefined
      }
    }
    return {
      written: attempt(() => files.resume(runId)) ?? 0,
      append: (records, from) => attempt(() => files.append(runId, records, from))
    }
  }

  return RawOutputs.of({
    record: (runId, secrets) =>
      files === undefined
        ? undefined
        : new RawRun({ sink: sinkOf(files, runId), secrets, now: () => clock.currentTimeMillisUnsafe() }),
    read: (runId) =>
      Effect.suspend(() => {
        const records = new RawFile(folder, runId).read()
        return records === undefined
          ? Effect.fail(new NotFound({ message: NOTHING }))
          : Effect.succeed(records)
      }),
    forgetRun: (runId) => Effect.sync(() => (files ?? new RawFile(folder, runId)).delete(runId))
  })
})
