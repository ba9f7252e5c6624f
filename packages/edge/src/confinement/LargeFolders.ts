/**
 * Sockets, pipes and devices in folders with many folders inside, such as installed toolchains. Each is searched by a program before its first
 * use, and again for later runs.
 *
 * Guarantees: a run waits for the first search of a folder only. What it gets is at most a minute old, or a search that started then.
 */
import { Effect, type Scope, Semaphore } from "effect"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"
import type { FoundSpecialFiles } from "./SpecialFiles.ts"

const PATH = "/usr/bin:/bin"
const SPECIAL = [
  "(",
  "-type",
  "s",
  "-o",
  "-type",
  "p",
  "-o",
  "-type",
  "b",
  "-o",
  "-type",
  "c",
  ")",
  "-print0"
]
const MAX_AGE_MS = 60_000
/** Folders that are remembered. */
const MAX_FOLDERS = 1_024
/** Characters of output, after which the call reads no more. */
const MAX_OUTPUT = 65_536

interface SearchedFolder extends FoundSpecialFiles {
  readonly searchedAt: number
}

const isIn = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)

export class LargeFolders {
  readonly #now: () => number
  readonly #scope: Scope.Scope
  readonly #one = Semaphore.makeUnsafe(1)
  #searched: Map<string, SearchedFolder> = new Map()

  /** Searches for later runs end with the scope. `now`: Unix milliseconds. */
  constructor(now: () => number, scope: Scope.Scope) {
    this.#now = now
    this.#scope = scope
  }

  /** Those in the folders. */
  readonly lookUp = Effect.fnUntraced(function* (
    this: LargeFolders,
    folders: ReadonlyArray<string>
  ): Effect.fn.Return<FoundSpecialFiles> {
    yield* this.#search(folders, Number.NEGATIVE_INFINITY)
    const minute = this.#now() - MAX_AGE_MS
    if (folders.some((folder) => (this.#searched.get(folder)?.searchedAt ?? 0) < minute))
      yield* Effect.forkIn(this.#search(folders, minute), this.#scope)
    const found = folders.map((folder) => this.#searched.get(folder))
    return {
      paths: found.flatMap((each) => each?.paths ?? []),
      isComplete: found.every((each) => each?.isComplete === true)
    }
  })

  /** Searches the folders that were not searched since then. */
  #search(folders: ReadonlyArray<string>, since: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const due = folders.filter((folder) => (this.#searched.get(folder)?.searchedAt ?? -Infinity) <= since)
      const program = findProgram("find", PATH)
      if (due.length === 0) return
      const searchedAt = this.#now()
      const result =
        program === undefined
          ? undefined
          : yield* callProgram({ program, args: [...due, ...SPECIAL], env: {}, cwd: "/" })
      const paths = result?.stdout.split("\0").slice(0, -1) ?? []
      const isComplete = result !== undefined && result.stdout.length < MAX_OUTPUT
      if (this.#searched.size + due.length > MAX_FOLDERS) this.#searched = new Map()
      for (const folder of due)
        this.#searched.set(folder, {
          paths: paths.filter((path) => isIn(folder, path)),
          isComplete,
          searchedAt
        })
    }).pipe(this.#one.withPermits(1))
  }
}
