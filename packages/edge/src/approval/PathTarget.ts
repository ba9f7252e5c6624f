/**
 * The real target of a path that an action names: every link of its existing part is followed, as the kernel does. Lookups in the file system are counted and made once for each
 * request.
 *
 * All policy about paths reads this result and never the text of a path.
 *
 * Guarantees: bounded work for one path and for one request, in names, links and lookups; a path that two programs could resolve differently has no target inside the workspace.
 *
 * Does not: see a link, a hard link or a folder that changes after the answer, or a file system that is mounted inside the workspace.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs"
import { basename, dirname, isAbsolute, join, normalize, parse, relative, sep } from "node:path"
import { isWithin } from "../workspace/PathText.ts"
import { isRepositoryName, manifests } from "./FileNames.ts"

/** Maximum length of a link and of the remaining names. */
const MAX_PATH_LENGTH = 4_096
const MAX_LINKS = 40
/** Maximum number of names of a path, including those of its links. */
const MAX_NAMES = 64
/** Separators of names. */
const separator = sep === "\\" ? /[\\/]/ : /\//

/** State of a followed path. */
interface FollowedPath {
  readonly path: string
  readonly stats: Stats | undefined
  /** Names at its end that do not exist. */
  readonly missing: number
  readonly names: number
  readonly links: number
}

/** A name in a folder. */
const joinPath = (folder: string, name: string): string =>
  folder.endsWith(sep) ? folder + name : folder + sep + name

/** Follows a path from a folder, component by component, as the kernel does; `undefined` if it cannot be followed. */
const followPath = (lookups: Lookups, from: FollowedPath, path: string): FollowedPath | undefined => {
  let { links, missing, names, path: at, stats } = from
  const pending = path.split(separator).toReversed()
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue
    if (stats?.isDirectory() === false) return undefined
    if (name === "..") {
      at = join(at, "..")
      missing = Math.max(0, missing - 1)
      stats = undefined
      continue
    }
    if (++names > MAX_NAMES) return undefined
    at = joinPath(at, name)
    stats = missing > 0 ? undefined : lookups.stats(at)
    if (stats === undefined) missing++
    else if (stats.isSymbolicLink()) {
      // The links of /proc have no length, and lead to another place for each process.
      if (++links > MAX_LINKS || stats.size === 0) return undefined
      const to = lookups.linkAt(at)
      if (to.length + pending.length > MAX_PATH_LENGTH) return undefined
      at = isAbsolute(to) ? parse(to).root : join(at, "..")
      pending.push(...to.split(separator).toReversed())
      stats = undefined
    }
  }
  if (missing === 0) stats ??= lookups.stats(at)
  return { path: at, stats, missing, names, links }
}

// File system lookups for one request. Each path is read once, up to a maximum number of lookups.
//
// Does not: see changes after the first lookup of a path. A value lives as long as the check of one request.

/** The calls that lookups make. */
export interface FileSystem {
  readonly lstat: (path: string) => Stats | undefined
  readonly readlink: (path: string) => string
}

/** The file system of this machine. */
export const fileSystem: FileSystem = {
  lstat: (path) => lstatSync(path, { throwIfNoEntry: false }),
  readlink: (path) => readlinkSync(path)
}

/** Maximum number of calls per request. */
export const MAX_CALLS = 4_096

class Lookups {
  /** Whether a lookup was refused because of the maximum. */
  isExhausted = false
  /** Number of calls so far. */
  calls = 0
  readonly #files: FileSystem
  readonly #stats = new Map<string, Stats | undefined>()
  readonly #links = new Map<string, string>()

  constructor(files: FileSystem) {
    this.#files = files
  }

  /** Throws if the path cannot be read, and beyond the maximum. */
  stats(path: string): Stats | undefined {
    const cached = this.#stats.get(path)
    if (cached !== undefined || this.#stats.has(path)) return cached
    this.#count()
    const found = this.#files.lstat(path)
    this.#stats.set(path, found)
    return found
  }

  /** Cached result of an earlier lookup. */
  cachedStats(path: string): Stats | undefined {
    return this.#stats.get(path)
  }

  /** Target of a link, as written. */
  linkAt(path: string): string {
    const cached = this.#links.get(path)
    if (cached !== undefined) return cached
    this.#count()
    const to = this.#files.readlink(path)
    this.#links.set(path, to)
    return to
  }

  #count(): void {
    this.isExhausted ||= this.calls >= MAX_CALLS
    if (this.isExhausted) throw new Error("Too much was looked up for one request.")
    this.calls++
  }
}

/** A target inside the workspace. */
export interface InsideTarget {
  readonly _tag: "Inside"
  /** Relative to the workspace's real root, with `/`; `.` is the root. */
  readonly path: string
  readonly kind: "missing" | "file" | "folder" | "special"
  /** Whether a regular file has hard links under other names, which may be anywhere. */
  readonly hasOtherNames: boolean
  readonly isExecutable: boolean
  /** Whether it is part of a Git repository's own data, by its name or by the content of its folder. */
  readonly isRepository: boolean
  /** Whether it is directly in the workspace's root, or in a folder with a package's manifest. Read on demand. */
  readonly isAtTop: boolean
}

/** A target that is outside the workspace or uncertain. The reason is a sentence. */
export interface OutsideTarget {
  readonly _tag: "Outside"
  readonly reason: string
}
export type PathTarget = InsideTarget | OutsideTarget

/** The workspace of a run. */
export interface WorkspacePaths {
  /** Its real path. */
  readonly root: string
  /** The target of `path`, relative to `folder`, which is relative to the root. */
  readonly targetOf: (path: string, folder?: string) => PathTarget
  /** A view of the workspace for one request. */
  readonly look: () => RequestPaths
}

/** The workspace for one request: each path is read once, up to a maximum number of calls. */
export interface RequestPaths extends WorkspacePaths {
  /** File system calls so far. */
  readonly calls: number
  /** Whether the maximum was reached. Further paths are uncertain. */
  readonly isExhausted: boolean
}

const outside = (reason: string): OutsideTarget => ({ _tag: "Outside", reason })
const leaves = outside("It leads out of the workspace.")
const uncertain = outside("Where it leads is not certain.")

const kindOf = (stats: Stats | undefined): InsideTarget["kind"] => {
  if (stats === undefined) return "missing"
  return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "special"
}

const unreadable = (path: string): OutsideTarget | undefined => {
  if (path === "") return outside("It names no file.")
  if (path.length > MAX_PATH_LENGTH) return outside("It is too long to be judged.")
  if (path.includes("\0")) return uncertain
  if (path.startsWith("~")) return leaves
  // A path of another system: programs differ in whether they split it.
  return sep === "/" && /^[A-Za-z]:|\\/.test(path) ? uncertain : undefined
}

/** View of a workspace for one request: no folder is followed twice, and no path is resolved twice. */
class LookAt implements RequestPaths {
  readonly root: string
  readonly #lookups: Lookups
  readonly #targets = new Map<string, Map<string, PathTarget>>()
  readonly #folders = new Map<string, FollowedPath | undefined>()
  readonly #repositories = new Map<string, boolean>()
  readonly #tops = new Map<string, boolean>()

  constructor(root: string, files: FileSystem) {
    this.root = root
    this.#lookups = new Lookups(files)
  }

  get calls(): number {
    return this.#lookups.calls
  }

  get isExhausted(): boolean {
    return this.#lookups.isExhausted
  }

  look(): RequestPaths {
    return this
  }

  targetOf(path: string, folder = "."): PathTarget {
    let targets = this.#targets.get(folder)
    if (targets === undefined) this.#targets.set(folder, (targets = new Map()))
    let target = targets.get(path)
    if (target === undefined) targets.set(path, (target = this.#resolve(path, folder)))
    return target
  }

  #resolve(path: string, folder: string): PathTarget {
    const wrong = unreadable(path)
    if (wrong !== undefined) return wrong
    try {
      const found = this.#follow(path, folder)
      if (found === undefined) return uncertain
      if (!isWithin(this.root, found.path)) return leaves
      // Programs that normalize a path before they open it must find the same file.
      const named = isAbsolute(path) ? path : `${folder}/${path}`
      const climbs = named.split(separator).includes("..")
      if (climbs && this.#follow(normalize(named), ".")?.path !== found.path) return uncertain
      return this.#inside(found)
    } catch {
      return uncertain
    }
  }

  #follow(path: string, folder: string): FollowedPath | undefined {
    if (isAbsolute(path)) return followPath(this.#lookups, this.#start(parse(path).root), path)
    const from = folder === "." ? this.#start(this.root) : this.#folder(folder)
    return from === undefined ? undefined : followPath(this.#lookups, from, path)
  }

  #folder(folder: string): FollowedPath | undefined {
    if (!this.#folders.has(folder)) this.#folders.set(folder, this.#follow(folder, "."))
    return this.#folders.get(folder)
  }

  #start(path: string): FollowedPath {
    return { path, stats: this.#lookups.stats(path), missing: 0, names: 0, links: 0 }
  }

  #inside({ path, stats }: FollowedPath): InsideTarget {
    const kind = kindOf(stats)
    const isAtTop = () => this.#isTop(dirname(path))
    return {
      _tag: "Inside",
      path: (relative(this.root, path) || ".").replaceAll(sep, "/"),
      kind,
      hasOtherNames: kind === "file" && stats !== undefined && stats.nlink > 1,
      isExecutable: kind === "file" && stats !== undefined && (stats.mode & 0o111) !== 0,
      isRepository: this.#isInRepository(path),
      get isAtTop() {
        return isAtTop()
      }
    }
  }

  /** Target of a real path, whose existing part was read when it was followed. */
  #isInRepository(path: string): boolean {
    const cached = this.#repositories.get(path)
    if (cached !== undefined) return cached
    const isBelowOne =
      path !== this.root && (isRepositoryName(basename(path)) || this.#isInRepository(dirname(path)))
    const isOne = isBelowOne || this.#holdsRepository(path)
    this.#repositories.set(path, isOne)
    return isOne
  }

  #isTop(folder: string): boolean {
    if (folder === this.root) return true
    let isTop = this.#tops.get(folder)
    if (isTop === undefined) this.#tops.set(folder, (isTop = this.#holdsManifest(folder)))
    return isTop
  }

  /** Whether a file has other names; true if that is unknown. */
  #holdsManifest(folder: string): boolean {
    if (this.#lookups.cachedStats(folder)?.isDirectory() !== true) return false
    const names = [...manifests, `${basename(folder)}.gemspec`]
    try {
      return names.some((name) => this.#lookups.stats(joinPath(folder, name)) !== undefined)
    } catch {
      return true
    }
  }

  /** Whether a folder contains a repository's data: a moved `.git`, a bare repository, or that of a submodule or a worktree. */
  #holdsRepository(path: string): boolean {
    if (this.#lookups.cachedStats(path)?.isDirectory() !== true) return false
    const holds = (name: string): boolean => this.#lookups.stats(joinPath(path, name)) !== undefined
    return holds("HEAD") && (holds("objects") || holds("commondir"))
  }
}

/** The workspace with the real root `root`. */
export const workspacePathsAt = (root: string, files: FileSystem = fileSystem): WorkspacePaths => ({
  root,
  targetOf: (path, folder) => new LookAt(root, files).targetOf(path, folder),
  look: () => new LookAt(root, files)
})

/** Whether a grant may cover a file that is written or read at a target. */
export const isGrantableTarget = (target: PathTarget): target is InsideTarget =>
  target._tag === "Inside" && !target.isRepository && !target.hasOtherNames && target.kind !== "special"
