/**
 * Covers over the sockets, pipes and devices that a run would see. Folders with many folders inside, such as installed toolchains, are searched by a program before their first use, and
 * again for later runs.
 *
 * Guarantees: a run with more of them than can be covered does not start. One whose folders could not be searched completely says so. A run waits for the first search of a folder only. What
 * it gets is at most a minute old, or a search that started then.
 */
import { Effect, type Scope, Semaphore } from "effect"
import type { NetworkUser } from "../network/RunNetwork.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import { inSteps } from "./InSteps.ts"
import { inOrder, type Mount } from "./Mount.ts"
import type { FoundSpecialFiles, SearchedTrees, SpecialFiles } from "./SpecialFiles.ts"

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

const MAX_COVERS = 512

const INCOMPLETE =
  "Sockets and pipes in the folders of this run are covered, but not all folders could be searched: they have too many files, or cannot be listed. A program of this machine may be reachable through one of the others."

export interface CoveredRun {
  /** Its folder. */
  readonly workspace: string
  readonly mounts: ReadonlyArray<Mount>
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
  /** The run's temporary folder, which is new. */
  readonly temporary: string | undefined
  readonly report: NetworkUser["report"]
}

/** Mounts of folders that exist outside of the run under the same path. */
const ownMounts = ({ mounts, system, temporary }: CoveredRun): ReadonlyArray<Mount> => {
  const ofSystem = new Set(system)
  return mounts.filter(
    (mount) =>
      (mount.kind === "read" || mount.kind === "write") &&
      mount.source === undefined &&
      mount.path !== temporary &&
      !ofSystem.has(mount)
  )
}

/** Whether the run sees, at this path, what is there outside. */
const isSeen = (ordered: ReadonlyArray<Mount>, path: string): boolean => {
  const mount = ordered.findLast((each) => isWithin(each.path, path))
  return (
    mount !== undefined && (mount.kind === "read" || mount.kind === "write") && mount.source === undefined
  )
}

/** What is searched: completely where programs of this machine work, such as the workspace, and toolchains as far as they are small. */
const searchedTrees = (run: CoveredRun): SearchedTrees => {
  const mounts = ownMounts(run)
  const isWork = ({ kind, path }: Mount) => kind === "write" || isWithin(run.workspace, path)
  return {
    all: mounts.filter(isWork).map(({ path }) => path),
    small: mounts.filter((mount) => !isWork(mount)).map(({ path }) => path),
    listed: run.system.map(({ path }) => path)
  }
}

/** Searches of an Edge. */
export interface SpecialFileSearches {
  readonly files: SpecialFiles
  readonly large: LargeFolders
}

/** The mounts with the covers. Fails with a phrase. */
export const coverSpecialFiles = Effect.fnUntraced(function* (
  { files, large }: SpecialFileSearches,
  run: CoveredRun
): Effect.fn.Return<ReadonlyArray<Mount>, string> {
  const { mounts, report } = run
  const near = yield* inSteps(files.search(searchedTrees(run)))
  const far = yield* large.lookUp(near.large)
  if (!near.isComplete || !far.isComplete) report("special-files", INCOMPLETE)
  const ordered = inOrder(mounts)
  const covers = [...near.paths, ...far.paths]
    .filter((path) => isSeen(ordered, path))
    .map((path) => ({ kind: "hidden_file", path }) as const)
  if (covers.length > MAX_COVERS)
    return yield* Effect.fail(
      `its folders have ${covers.length} sockets and pipes, and up to ${MAX_COVERS} can be covered. Remove those that no program uses.`
    )
  return [...mounts, ...covers]
})
