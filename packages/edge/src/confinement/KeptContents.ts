/**
 * Contents of small files of a repository, by their values, in one file. A start keeps some twenty of them, and to write as many files takes
 * milliseconds.
 *
 * Guarantees: a content is complete or not there. A write that was cut off leaves a line that is not read.
 */
import { appendFileSync, readFileSync } from "node:fs"

/** A value, and the bytes in base64. */
type Line = readonly [value: string, content: string]

const linesOf = (text: string): ReadonlyArray<Line> => {
  try {
    // This program wrote the line.
    return [JSON.parse(text) as Line]
  } catch {
    return []
  }
}

export class KeptContents {
  readonly #path: string
  #values: Set<string> | undefined

  constructor(path: string) {
    this.#path = path
  }

  has(value: string): boolean {
    this.#values ??= new Set(this.#lines().map(([each]) => each))
    return this.#values.has(value)
  }

  add(contents: ReadonlyMap<string, Buffer>): void {
    if (contents.size === 0) return
    const lines = [...contents].map(([value, bytes]) => JSON.stringify([value, bytes.toString("base64")]))
    // The line before may have been cut off.
    appendFileSync(this.#path, `\n${lines.join("\n")}\n`, { mode: 0o600 })
    for (const value of contents.keys()) this.#values?.add(value)
  }

  of(value: string): Buffer | undefined {
    const content = this.#lines().find(([each]) => each === value)?.[1]
    return content === undefined ? undefined : Buffer.from(content, "base64")
  }

  #lines(): ReadonlyArray<Line> {
    try {
      return readFileSync(this.#path, "utf8").split("\n").flatMap(linesOf)
    } catch {
      // Nothing was kept.
      return []
    }
  }
}
