/**
 * Sockets, pipes and devices in the folders that a run sees. Connecting to a socket, and writing to a pipe, need no permission to write the
 * folder, so they lead out of a confinement whose folders are read-only.
 *
 * Guarantees: a search is bounded by its number of names and its time, and says whether it reached a limit. Folders that did not change since
 * an earlier search are not read again.
 *
 * Does not: follow links, or find what is made after the search. Sockets of another network namespace are found by their folder only.
 */
import { accessSync, constants, type Dirent, readFileSync, type Stats } from "node:fs"
import { openFolder, statOf } from "./FileLook.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import { outermost } from "./Mount.ts"

export interface FoundSpecialFiles {
  readonly paths: ReadonlyArray<string>
  /** Whether no limit was reached. */
  readonly isComplete: boolean
}

export interface SearchLimits {
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

export interface SearchedTrees {
  /** Trees that are searched completely. */
  readonly all: ReadonlyArray<string>
  /** Trees that are searched if they are small. */
  readonly small?: ReadonlyArray<string> | undefined
  /** Trees whose sockets are found by the kernel's list alone. */
  readonly listed?: ReadonlyArray<string> | undefined
}

export interface SpecialFileSearch extends FoundSpecialFiles {
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
