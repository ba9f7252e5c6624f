/**
 * Sockets, pipes and devices in the folders that a run sees, and covers over them. Connecting to a socket, and writing to a pipe, need no
 * permission to write the folder, so they lead out of a confinement whose folders are read-only. Folders with many folders inside, such as
 * installed toolchains, are searched by a program before their first use, and again for later runs.
 *
 * Guarantees: a search is bounded by its number of names and its time, and says whether it reached a limit. Folders that did not change since an
 * earlier search are not read again. A run with more special files than can be covered does not start. One whose folders could not be searched
 * completely says so. A run waits for the first search of a folder only. What it gets is at most a minute old, or a search that started then.
 *
 * Does not: follow links, or find what is made after the search. Sockets of another network namespace are found by their folder only.
 */
import { Effect, type Scope, Semaphore } from "effect"
import { accessSync, constants, type Dirent, readFileSync, type Stats } from "node:fs"
import type { NetworkUser } from "../network/RunNetwork.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"
import { isWithin } from "../workspace/PathText.ts"
import { openFolder, statOf } from "../workspace/UntrustedFiles.ts"
import { inSteps } from "./InSteps.ts"
import { inOrder, type Mount, outermost } from "./Mount.ts"

export interface FoundSpecialFiles {
  readonly paths: ReadonlyArray<string>
  /** Whether no limit was reached. */
  readonly isComplete: boolean
}

interface SearchLimits {
  /** Names that one search reads, and folders that are remembered. */
  readonly names: number
  readonly millis: number
}

const LIMITS: SearchLimits = { names: 500_000, millis: 5_000 }
/** A folder that changed later than this before a search is read again by the next one: clocks of file systems are coarse. */
const SETTLED_MS = 2_000
/** Names in one step. */
const STEP = 256

interface ReadFolder {
  /** Differs after every change of its entries. */
  readonly stamp: string
  readonly isSettled: boolean
  readonly folders: ReadonlyArray<string>
  readonly special: ReadonlyArray<string>
}

const isSpecial = (entry: Dirent | Stats): boolean =>
  entry.isSocket() || entry.isFIFO() || entry.isBlockDevice() || entry.isCharacterDevice()

/** Absolute paths of the sockets of this network namespace. */
const socketPaths = (): ReadonlyArray<string> => {
  try {
    // Numbers, then the path.
    return readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .flatMap((line) => (line.includes(" /") ? [line.slice(line.indexOf(" /") + 1)] : []))
  } catch {
    return []
  }
}

/** Folders of one tree that are searched before each run, if the run cannot write the tree. */
const SMALL = 256

interface SearchedTrees {
  /** Trees that are searched completely. */
  readonly all: ReadonlyArray<string>
  /** Trees that are searched if they are small. */
  readonly small?: ReadonlyArray<string> | undefined
  /** Trees whose sockets are found by the kernel's list alone. */
  readonly listed?: ReadonlyArray<string> | undefined
}

interface SpecialFileSearch extends FoundSpecialFiles {
  /** Trees that are not small. */
  readonly large: ReadonlyArray<string>
}

export class SpecialFiles {
  readonly #now: () => number
  readonly #limits: SearchLimits
  /** By path. */
  #folders: Map<string, ReadFolder> = new Map()
  readonly #large = new Set<string>()

  /** `now`: Unix milliseconds. */
  constructor(now: () => number, limits: SearchLimits = LIMITS) {
    this.#now = now
    this.#limits = limits
  }

  /** Those in the trees, in short steps. */
  *search({
    all,
    listed = [],
    small = []
  }: SearchedTrees): Generator<undefined, SpecialFileSearch, undefined> {
    const roots = outermost(all)
    const shown = [...roots, ...small, ...listed]
    const found = new Set(
      socketPaths().filter((path) => shown.some((tree) => isWithin(tree, path)) && isSpecialAt(path))
    )
    const isComplete = (yield* this.#walk(roots, this.#limits.names, found)) === "complete"
    const large: Array<string> = []
    for (const tree of outermost(small)) {
      const isLarge = this.#large.has(tree) || (yield* this.#walk([tree], SMALL, found)) === "limit"
      if (isLarge) large.push(tree)
      if (isLarge) this.#large.add(tree)
    }
    return { paths: [...found], isComplete, large }
  }

  /** Adds to `found`. `folders`: largest number of folders. */
  *#walk(
    roots: ReadonlyArray<string>,
    folders: number,
    found: Set<string>
  ): Generator<undefined, "complete" | "unreadable" | "limit", undefined> {
    const startedMs = this.#now()
    let [names, isReadable] = [0, true]
    const pending = [...roots]
    for (const path of pending) {
      const isOver = names >= this.#limits.names || pending.length > folders
      if (isOver || this.#now() - startedMs > this.#limits.millis) return "limit"
      if (++names % STEP === 0) yield
      const stat = statOf(path)
      if (stat === undefined) continue
      if (!stat.isDirectory()) {
        if (isSpecial(stat)) found.add(path)
        continue
      }
      const read = yield* this.#read(path, stat, startedMs)
      if (read === undefined) {
        // Without a permission to enter it, the run finds nothing there either.
        isReadable &&= !canEnter(path)
        continue
      }
      names += read.folders.length
      for (const name of read.special) found.add(`${path}/${name}`)
      for (const name of read.folders) pending.push(`${path}/${name}`)
    }
    if (this.#folders.size > this.#limits.names / 10) this.#folders = new Map()
    return isReadable ? "complete" : "unreadable"
  }

  *#read(
    path: string,
    stat: Stats,
    startedMs: number
  ): Generator<undefined, ReadFolder | undefined, undefined> {
    const stamp = `${stat.ino} ${stat.ctimeMs}`
    const earlier = this.#folders.get(path)
    if (earlier?.stamp === stamp && earlier.isSettled) return earlier
    const folder = openFolder(path, STEP)
    if (folder === undefined) return undefined
    const [folders, special] = [Array<string>(), Array<string>()]
    let count = 0
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (entry.isDirectory()) folders.push(entry.name)
        else if (isSpecial(entry)) special.push(entry.name)
        if (++count % STEP === 0) yield
        if (count > this.#limits.names) return undefined
      }
    } finally {
      folder.closeSync()
    }
    const isSettled = stat.ctimeMs < startedMs - SETTLED_MS
    const read: ReadFolder = { stamp, isSettled, folders, special }
    this.#folders.set(path, read)
    return read
  }
}

const canEnter = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const isSpecialAt = (path: string): boolean => {
  const stat = statOf(path)
  return stat !== undefined && isSpecial(stat)
}

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

/** Folders with many folders inside, each searched by a program. */
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

interface CoveredRun {
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
