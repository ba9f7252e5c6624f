/**
 * File with what the watch over a run's protected names knows, so that the next Edge continues with it.
 *
 * Guarantees: private, and replaced as a whole. A file that cannot be read counts as missing; then the watch says that it is incomplete.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { ProtectedEntry, ProtectedScan } from "./ProtectedTree.ts"

export interface StoredScan extends Omit<ProtectedScan, "entries"> {
  readonly entries: ReadonlyArray<readonly [path: string, entry: ProtectedEntry]>
}

export const storedScan = ({ entries, ...scan }: ProtectedScan): StoredScan => ({
  ...scan,
  entries: [...entries]
})
export const scanOf = ({ entries, ...scan }: StoredScan): ProtectedScan => ({
  ...scan,
  entries: new Map(entries)
})

export class ProtectedRecord<State> {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  read(): State | undefined {
    try {
      // This program wrote the file.
      return JSON.parse(readFileSync(this.#file, "utf8")) as State
    } catch {
      return undefined
    }
  }

  /** A failure is not reported: the next Edge finds an older state, and reports more changes. */
  write(state: State): void {
    try {
      makeFolder(dirname(this.#file))
      writeFileSync(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    } catch {
      rmSync(this.#file, { force: true })
    }
  }

  remove(): void {
    for (const file of [this.#file, `${this.#file}.new`]) rmSync(file, { force: true })
  }
}
