/**
 * The real target of a path that an action names: normalized, every link of its existing part resolved.
 *
 * All policy about paths reads this result and never the text of a path.
 * Guarantees: bounded work for one path; a path that two programs could resolve differently has no target inside the workspace.
 * Does not: see a link, a hard link or a folder that changes after the answer, or a file system that is mounted inside the workspace.
 */
import { lstatSync, readlinkSync, statSync, type Stats } from "node:fs"
import { isAbsolute, join, normalize, parse, relative, sep } from "node:path"
import { isWithin } from "../workspace/PathContainment.ts"

/** A target inside the workspace. */
export interface InsideTarget {
  readonly _tag: "Inside"
  /** Relative to the workspace's real root, with `/`; `.` is the root. */
  readonly path: string
  readonly kind: "missing" | "file" | "folder" | "special"
  /** A regular file with hard links under other names, which may be anywhere. */
  readonly hasOtherNames: boolean
  readonly isExecutable: boolean
  /** Part of a Git repository's own data, by its name or by what its folder contains. */
  readonly isRepository: boolean
}

/** A target outside the workspace, or one that is not certain. The reason is a sentence. */
export interface OutsideTarget {
  readonly _tag: "Outside"
  readonly reason: string
}
export type PathTarget = InsideTarget | OutsideTarget

/** The workspace of a run. */
export interface Place {
  /** Its real path. */
  readonly root: string
  /** The target of `path`, named in `folder`, which is relative to the root. */
  readonly targetOf: (path: string, folder?: string) => PathTarget
}

const MAX_LENGTH = 4_096
const MAX_LINKS = 40
/** Names that are looked up for one path. */
const MAX_LOOKUPS = 128
const separator = sep === "\\" ? /[\\/]/ : /\//

const outside = (reason: string): OutsideTarget => ({ _tag: "Outside", reason })
const leaves = outside("It leads out of the workspace.")
const uncertain = outside("Where it leads is not certain.")

/** The name without differences that file systems ignore: case, compatible and invisible characters, trailing dots and spaces, streams. */
export const foldedName = (name: string): string => {
  const folded = name.normalize("NFKC").replaceAll(/\p{C}/gu, "").toLowerCase()
  const colon = folded.indexOf(":", 1)
  const plain = colon === -1 ? folded : folded.slice(0, colon)
  let end = plain.length
  while (end > 1 && (plain[end - 1] === "." || plain[end - 1] === " ")) end--
  return plain.slice(0, end)
}

/** Whether a path names what Git keeps for itself. File systems know it under several spellings. */
export const isRepositoryName = (path: string): boolean =>
  path.split(/[\\/]/).some((name) => /^(\.git|git~\d)$/.test(foldedName(name)))

/** Follows a path component by component, as the kernel does; `undefined` where it cannot be followed. */
const followed = (
  root: string,
  path: string
): { readonly path: string; readonly stats?: Stats } | undefined => {
  let at = isAbsolute(path) ? parse(path).root : root
  const pending = (isAbsolute(path) ? path.slice(at.length) : path).split(separator).toReversed()
  let links = 0
  let missing = 0
  let lookups = 0
  let stats: Stats | undefined = lstatSync(at, { throwIfNoEntry: false })
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue
    if (name === "..") {
      at = join(at, "..")
      missing = Math.max(0, missing - 1)
      stats = undefined
      continue
    }
    if (++lookups > MAX_LOOKUPS) return undefined
    at = join(at, name)
    stats = missing > 0 ? undefined : lstatSync(at, { throwIfNoEntry: false })
    if (stats === undefined) missing++
    else if (stats.isSymbolicLink()) {
      // The links of /proc have no length: they lead elsewhere for each process.
      if (++links > MAX_LINKS || stats.size === 0) return undefined
      const to = readlinkSync(at)
      if (to.length + pending.length > MAX_LENGTH) return undefined
      at = isAbsolute(to) ? parse(to).root : join(at, "..")
      pending.push(...to.split(separator).toReversed())
      stats = undefined
    } else if (!stats.isDirectory() && pending.some((rest) => rest !== "" && rest !== ".")) return undefined
  }
  if (missing === 0) stats ??= lstatSync(at, { throwIfNoEntry: false })
  return stats === undefined ? { path: at } : { path: at, stats }
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Whether a folder holds a repository's data: its own `.git` moved elsewhere, a bare one, that of a submodule or a worktree. */
const isRepositoryFolder = (folder: string): boolean =>
  exists(join(folder, "HEAD")) && (exists(join(folder, "objects")) || exists(join(folder, "commondir")))

const isInRepository = (root: string, path: string): boolean => {
  if (isRepositoryName(path)) return true
  let folder = root
  for (const name of path.split("/")) {
    if (isRepositoryFolder(folder)) return true
    folder = join(folder, name)
    if (!exists(folder)) return false
  }
  return isRepositoryFolder(folder)
}

const kindOf = (stats: Stats | undefined): InsideTarget["kind"] => {
  if (stats === undefined) return "missing"
  return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "special"
}

const insideTarget = (root: string, path: string, stats: Stats | undefined): InsideTarget => {
  const inner = (relative(root, path) || ".").replaceAll(sep, "/")
  const kind = kindOf(stats)
  return {
    _tag: "Inside",
    path: inner,
    kind,
    hasOtherNames: kind === "file" && stats !== undefined && stats.nlink > 1,
    isExecutable: kind === "file" && stats !== undefined && (stats.mode & 0o111) !== 0,
    isRepository: isInRepository(root, inner)
  }
}

const unreadable = (path: string): OutsideTarget | undefined => {
  if (path === "") return outside("It names no file.")
  if (path.length > MAX_LENGTH) return outside("It is too long to be judged.")
  if (path.includes("\0")) return uncertain
  if (path.startsWith("~")) return leaves
  // A path of another system: programs differ in whether they split it.
  return sep === "/" && /^[A-Za-z]:|\\/.test(path) ? uncertain : undefined
}

const resolve = (root: string, path: string, folder: string): PathTarget => {
  const wrong = unreadable(path)
  if (wrong !== undefined) return wrong
  const named = isAbsolute(path) ? path : `${folder}/${path}`
  try {
    const found = followed(root, named)
    if (found === undefined) return uncertain
    if (!isWithin(root, found.path)) return leaves
    // Programs that normalize a path before they open it must find the same file.
    const climbs = named.split(separator).includes("..")
    if (climbs && followed(root, normalize(named))?.path !== found.path) return uncertain
    return insideTarget(root, found.path, found.stats)
  } catch {
    return uncertain
  }
}

/** The workspace whose real root is `root`. */
export const placeAt = (root: string): Place => ({
  root,
  targetOf: (path, folder = ".") => resolve(root, path, folder)
})

/** Whether a grant may cover a file that is written or read there. */
export const isGrantable = (target: PathTarget): target is InsideTarget =>
  target._tag === "Inside" && !target.isRepository && !target.hasOtherNames && target.kind !== "special"
