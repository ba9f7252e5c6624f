/**
 * Protected names of a workspace and the state of each, read again and again during a run. The workspace may be hostile. Also the names that count as
 * protected.
 *
 * Guarantees: one scan is bounded by its number of names, its depth and its time, and says whether it reached a limit. A change of a file
 * changes its state, also if its content, times and size are set back: the kernel sets the change time.
 *
 * Does not: follow links, look into another file system, or see a file that exists only between two scans.
 */
import { type BigIntStats, lstatSync } from "node:fs"
import { foldedName, installedFolders } from "../approval/FileNames.ts"
import { openFolder } from "../workspace/UntrustedFiles.ts"
import { loadedReason } from "../approval/OrdinaryFiles.ts"

// Names in a workspace that other programs run or obey by themselves, as the policy of paths reads them. Pure.
//
// Does not: look into installed packages and caches, which programs write all the time.

/**
 * How the entries of a folder are judged. `ordinary`: by their names. `all`: every entry is protected. `repository`, `info` and `rebase`: the
 * files that Git obeys. `parts`: repositories of submodules and worktrees.
 */
type FolderKind = "ordinary" | "all" | "repository" | "info" | "rebase" | "parts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Caches and installed packages whose names begin with a dot. */
const caches = named(
  ".angular .cache .dart_tool .eggs .expo .gradle .hypothesis .ipynb_checkpoints .mypy_cache .next .nox .nuxt .nx .nyc_output .output " +
    ".parcel-cache .pnpm-store .pytest_cache .ruff_cache .sass-cache .svelte-kit .terraform .tox .turbo .venv .virtualenv .vite .vitest"
)
const cacheFiles = named(".coverage .ds_store .eslintcache .stylelintcache .tsbuildinfo")

/** Files that Git obeys, by the folder that they are in. */
const repositoryFiles: Readonly<Record<"repository" | "info" | "rebase" | "parts", ReadonlySet<string>>> = {
  repository: named("config config.worktree commondir gitdir"),
  info: named("attributes"),
  rebase: named("git-rebase-todo"),
  parts: new Set()
}
const repositoryFolders: ReadonlyMap<string, FolderKind> = new Map([
  ["hooks", "all"],
  ["info", "info"],
  ["rebase-merge", "rebase"],
  ["modules", "parts"],
  ["worktrees", "parts"]
])

/** Whether a folder with these names holds the data of a repository: a bare one, a moved `.git`, a submodule or a worktree. */
const holdsRepository = (names: { readonly has: (name: string) => boolean }): boolean =>
  names.has("HEAD") && (names.has("objects") || names.has("commondir"))

/** How to judge the folder `name` inside a folder; `undefined` if no program finds anything in it. `folded`: as file systems compare it. */
const kindOfFolder = (parent: FolderKind, name: string, folded: string): FolderKind | undefined => {
  switch (parent) {
    case "repository":
      return repositoryFolders.get(name)
    case "info":
    case "rebase":
      return undefined
    case "parts":
      return "parts"
    case "ordinary":
    case "all":
      if (folded === ".git") return "repository"
      if (installedFolders.has(folded) || caches.has(folded)) return undefined
      return folded.startsWith(".") ? "all" : parent
  }
}

/** Whether the folder itself is protected. */
const isProtectedFolder = (parent: FolderKind, folded: string): boolean =>
  parent === "all" || (parent === "ordinary" && folded.startsWith("."))

/** Whether a file or a link is protected. `folded`: all names of its path as file systems compare them. */
const isProtectedFile = (parent: FolderKind, name: string, folded: ReadonlyArray<string>): boolean => {
  switch (parent) {
    case "all":
      return true
    case "ordinary":
      return !cacheFiles.has(folded.at(-1) ?? "") && loadedReason(name, folded) !== undefined
    default:
      return repositoryFiles[parent].has(name)
  }
}

/** State of one protected name. */
export interface ProtectedEntry {
  /** Differs after every change. */
  readonly stamp: string
  readonly kind: "file" | "folder" | "unreadable"
  /** Last change, in Unix milliseconds. */
  readonly changedMs: number
}

export interface ProtectedScan {
  /** By path, relative to the workspace with `/`. An existing name that a limit left out has its earlier state. */
  readonly entries: ReadonlyMap<string, ProtectedEntry>
  /** Whether no limit was reached. */
  readonly isComplete: boolean
  /** Unix milliseconds. */
  readonly startedMs: number
}

export interface ScanLimits {
  /** Names that one scan reads. */
  readonly names: number
  readonly depth: number
  readonly millis: number
}

const LIMITS: ScanLimits = { names: 200_000, depth: 64, millis: 5_000 }

/** A folder that changed later than this before a scan is read again by the next one: clocks of file systems are coarse. */
const SETTLED_MS = 2_000
/** Names in one step. */
const STEP = 256

interface PendingFolder {
  readonly path: string
  /** Its names as file systems compare them. */
  readonly folded: ReadonlyArray<string>
  readonly kind: FolderKind
}

/** A folder may be judged in two ways: as part of the workspace, and by itself. */
const keyOf = ({ kind, path }: PendingFolder): string => `${kind} ${path}`

/** What was read of a folder. */
interface ReadFolder {
  readonly stamp: string
  readonly isSettled: boolean
  readonly size: number
  readonly watched: ReadonlyArray<string>
  readonly folders: ReadonlyArray<PendingFolder>
  /** Folders whose names are not text. */
  readonly unreadable: ReadonlyArray<string>
  readonly isComplete: boolean
}

type Steps<A> = Generator<undefined, A, undefined>

const unreadable: ProtectedEntry = { kind: "unreadable", stamp: "unreadable", changedMs: 0 }

const statOf = (path: string): BigIntStats | undefined => {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const millisOf = ({ ctimeNs }: BigIntStats): number => Number(ctimeNs / 1_000_000n)

/** The change time of a folder is that of its entries, which are compared themselves. */
const entryOf = (stat: BigIntStats): ProtectedEntry => {
  const changedMs = millisOf(stat)
  const { ctimeNs, ino, mode, size } = stat
  return stat.isDirectory()
    ? { kind: "folder", stamp: `folder ${ino}`, changedMs }
    : { kind: "file", stamp: `${mode} ${ino} ${size} ${ctimeNs}`, changedMs }
}

export class ProtectedTree {
  readonly #root: string
  readonly #now: () => number
  readonly #limits: ScanLimits
  readonly #further: ReadonlyArray<string>
  #folders: ReadonlyMap<string, ReadFolder> = new Map()
  #entries: ReadonlyMap<string, ProtectedEntry> = new Map()

  /** `root`: a real path. `now`: Unix milliseconds. `further`: names that are protected as well, with everything in them. */
  constructor(
    root: string,
    now: () => number,
    limits: ScanLimits = LIMITS,
    further: ReadonlyArray<string> = []
  ) {
    this.#further = further
    this.#root = root
    this.#now = now
    this.#limits = limits
  }

  /** One scan, in short steps. */
  *scan(): Steps<ProtectedScan> {
    const startedMs = this.#now()
    const entries = new Map<string, ProtectedEntry>()
    const read = new Map<string, ReadFolder>()
    const pending: Array<PendingFolder> = [
      { path: "", folded: [], kind: "ordinary" },
      ...this.#further.map((path) => ({
        path,
        folded: path.split("/").map(foldedName),
        kind: "all" as const
      }))
    ]
    yield* this.#addEntries(entries, this.#further)
    const device = statOf(this.#root)?.dev
    let [names, isComplete] = [0, true]
    // Folders near the root come first: a limit leaves out the deepest ones.
    for (const folder of pending) {
      if (names >= this.#limits.names || this.#now() - startedMs > this.#limits.millis) {
        isComplete = false
        break
      }
      names++
      const found = yield* this.#readFolder(folder, device, startedMs, this.#limits.names - names)
      if (found === "unreadable") entries.set(folder.path, unreadable)
      if (typeof found !== "object") continue
      read.set(keyOf(folder), found)
      names += found.size
      isComplete &&= found.isComplete
      for (const path of found.unreadable) entries.set(path, unreadable)
      yield* this.#addEntries(entries, found.watched)
      for (const inner of found.folders) pending.push(inner)
    }
    if (!isComplete) yield* this.#keepUnread(entries)
    this.#folders = read
    this.#entries = entries
    return { entries, isComplete, startedMs }
  }

  #absolute(path: string): string {
    return path === "" ? this.#root : `${this.#root}/${path}`
  }

  *#addEntries(entries: Map<string, ProtectedEntry>, paths: ReadonlyArray<string>): Steps<void> {
    for (const [at, path] of paths.entries()) {
      const stat = statOf(this.#absolute(path))
      if (stat !== undefined) entries.set(path, entryOf(stat))
      if (at % STEP === STEP - 1) yield
    }
  }

  /** Otherwise a name would be forgotten, and its later deletion missed. */
  *#keepUnread(entries: Map<string, ProtectedEntry>): Steps<void> {
    let looked = 0
    for (const [path, entry] of this.#entries) {
      if (entries.has(path)) continue
      if (statOf(this.#absolute(path)) !== undefined) entries.set(path, entry)
      if (++looked % STEP === 0) yield
    }
  }

  /** `undefined`: it is no longer a folder of this file system. */
  *#readFolder(
    folder: PendingFolder,
    device: bigint | undefined,
    startedMs: number,
    room: number
  ): Steps<ReadFolder | "unreadable" | undefined> {
    yield
    const stat = statOf(this.#absolute(folder.path))
    if (stat === undefined || !stat.isDirectory() || stat.dev !== device) return undefined
    const stamp = `${stat.ino} ${stat.ctimeNs}`
    const earlier = this.#folders.get(keyOf(folder))
    if (earlier?.stamp === stamp && earlier.isSettled && earlier.isComplete) return earlier
    const isSettled = millisOf(stat) < startedMs - SETTLED_MS
    const names = yield* this.#namesOf(folder.path, room)
    if (names === undefined) return "unreadable"
    const content = yield* this.#judge(folder, names)
    const isComplete = content.isComplete && names.size < room
    return { ...content, stamp, isSettled, size: names.size, isComplete }
  }

  /** Up to `room` names of a folder, with whether each is a folder; `undefined` if they cannot be read. */
  *#namesOf(path: string, room: number): Steps<ReadonlyMap<string, boolean> | undefined> {
    const names = new Map<string, boolean>()
    const folder = openFolder(this.#absolute(path), STEP)
    if (folder === undefined) return undefined
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        names.set(entry.name, entry.isDirectory())
        if (names.size >= room) break
        if (names.size % STEP === 0) yield
      }
    } finally {
      folder.closeSync()
    }
    return names
  }

  *#judge(
    { folded, kind: expected, path }: PendingFolder,
    names: ReadonlyMap<string, boolean>
  ): Steps<Pick<ReadFolder, "watched" | "folders" | "unreadable" | "isComplete">> {
    const isRepository = (expected === "ordinary" || expected === "parts") && holdsRepository(names)
    const kind = isRepository ? "repository" : expected
    const [watched, folders, noText] = [Array<string>(), Array<PendingFolder>(), Array<string>()]
    let [isComplete, count] = [true, 0]
    for (const [name, isFolder] of names) {
      if (++count % STEP === 0) yield
      const last = foldedName(name)
      const inside = path === "" ? name : `${path}/${name}`
      if (!isFolder) {
        if (isProtectedFile(kind, name, [...folded, last])) watched.push(inside)
        continue
      }
      const inner = kindOfFolder(kind, name, last)
      if (inner === undefined) continue
      if (isProtectedFolder(kind, last)) watched.push(inside)
      if (name.includes("\uFFFD")) noText.push(inside)
      else if (folded.length >= this.#limits.depth) isComplete = false
      else folders.push({ path: inside, folded: [...folded, last], kind: inner })
    }
    return { watched, folders, unreadable: noText, isComplete }
  }
}
