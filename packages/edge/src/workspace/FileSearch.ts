/**
 * Search for files of a workspace by parts of their names. Names of the files and folders of a workspace, in its whole depth. Ignored
 * files come last.
 *
 * Guarantees: the names of a workspace are read once for the keys of one word: they are kept for some seconds. A search takes as many
 * steps as there are names, and lets other work continue in between. Nothing of version control is named, nothing in folders that hold
 * credentials, and nothing outside of the root: links are named, not followed, also where a folder becomes one meanwhile. The number
 * of folders and names is bounded.
 *
 * Does not: open files.
 */
import type { FileEntry, FoundFiles } from "@corral/domain/device/Workspace"
import { Cache, Context, Effect, Layer } from "effect"
import { constants } from "node:fs"
import { open, readdir, readlink, realpath } from "node:fs/promises"
import { relative } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { holdsCredentials } from "./WorkspaceFiles.ts"
import { git } from "./Git.ts"
import { isWithin, pathBytes, pathText } from "./PathText.ts"
import { splitZeroTerminated } from "./ShadowRepository.ts"

// How well the path of a file matches what a person types: name before folders, beginnings before parts, whole parts before single letters in
// order. Pure, and linear in the path.

/** A path of a workspace, prepared for many queries. */
interface SearchedPath {
  readonly path: string
  readonly kind: "directory" | "file" | "symlink"
  readonly isIgnored: boolean
  /** In lower case. */
  readonly folded: string
  /** Where its last segment begins. */
  readonly nameAt: number
}

export const searchedPath = (path: string, kind: SearchedPath["kind"], isIgnored: boolean): SearchedPath => ({
  path,
  kind,
  isIgnored,
  folded: path.toLowerCase(),
  nameAt: path.lastIndexOf("/") + 1
})

/** Number of ranks. */
export const RANKS = 6

const isSubsequence = (part: string, whole: string, from: number): boolean => {
  let at = 0
  for (let i = from; i < whole.length && at < part.length; i++) if (whole[i] === part[at]) at++
  return at === part.length
}

/** Lower is better; `undefined` is no match. `query`: in lower case. */
export const rankOf = ({ folded, nameAt }: SearchedPath, query: string): number | undefined => {
  const inName = query.includes("/") ? -1 : folded.indexOf(query, nameAt)
  if (inName === nameAt) return 0
  if (inName !== -1) return "-_. ".includes(folded.charAt(inName - 1)) ? 1 : 2
  const inPath = folded.indexOf(query)
  if (inPath !== -1) return inPath === 0 || folded[inPath - 1] === "/" ? 1 : 3
  if (isSubsequence(query, folded, nameAt)) return 4
  return isSubsequence(query, folded, 0) ? 5 : undefined
}

/** Whether the path is an entry of the folder, or of the root. */
const isEntryOf = ({ folded, nameAt }: SearchedPath, folder: string): boolean =>
  nameAt === folder.length && folded.startsWith(folder)

/** Shorter paths first: they are nearer to the root. */
export const byLength = (a: SearchedPath, b: SearchedPath): number =>
  a.path.length - b.path.length || (a.path < b.path ? -1 : 1)

interface FileNames {
  readonly names: ReadonlyArray<SearchedPath>
  /** Whether there are more. */
  readonly isCut: boolean
}

export interface NameLimits {
  readonly names: number
  readonly folders: number
}

const LIMITS: NameLimits = { names: 100_000, folders: 20_000 }
const IGNORED_TIMEOUT_MS = 5_000
const IGNORED_BYTES = 8_388_608
const FOLDERS_AT_ONCE = 8

/** Folders of version control. */
const versionControl = new Set([".bzr", ".git", ".hg", ".jj", ".svn"])

const descriptors = process.platform === "linux" ? "/proc/self/fd" : undefined

/** Entries of a folder inside of the root; none where it is no folder, no longer inside, or never served. */
const entriesOf = async (root: string, path: string) => {
  const folder = pathBytes(path === "" ? root : `${root}/${path}`)
  try {
    const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      const place = descriptors === undefined ? folder : Buffer.from(`${descriptors}/${handle.fd}`)
      const real =
        descriptors === undefined
          ? await realpath(folder, { encoding: "buffer" })
          : await readlink(place, { encoding: "buffer" })
      const inside = pathText(real)
      if (!isWithin(root, inside) || holdsCredentials(root, relative(root, inside), false)) return []
      return await readdir(place, { withFileTypes: true, encoding: "buffer" })
    } finally {
      await handle.close()
    }
  } catch {
    return []
  }
}

/** What git ignores: folders with a slash at the end, and files. Nothing is known without git, or where it fails. */
const ignoredIn = (program: string | undefined, root: string): Effect.Effect<ReadonlySet<string>> =>
  program === undefined
    ? Effect.succeed(new Set())
    : git({
        program,
        cwd: root,
        args: ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"],
        timeoutMs: IGNORED_TIMEOUT_MS,
        watched: root,
        maxBytes: IGNORED_BYTES
      }).pipe(
        Effect.map(({ bytes }) => new Set(splitZeroTerminated(bytes))),
        Effect.catch(() => Effect.succeed(new Set<string>()))
      )

interface Folder {
  readonly path: string
  readonly isIgnored: boolean
}

export const readFileNames = (
  program: string | undefined,
  root: string,
  limits: NameLimits = LIMITS
): Effect.Effect<FileNames> =>
  Effect.flatMap(ignoredIn(program, root), (ignored) => Effect.promise(() => walk(root, ignored, limits)))

/** Folders that are not ignored first, nearer ones first. */
const walk = async (root: string, ignored: ReadonlySet<string>, limits: NameLimits): Promise<FileNames> => {
  const names: Array<SearchedPath> = []
  let next: ReadonlyArray<Folder> = [{ path: "", isIgnored: false }]
  const later: Array<Folder> = []
  let folders = 0
  while (next.length > 0 || later.length > 0) {
    const level = next.length > 0 ? next : later.splice(0)
    const found: Array<Folder> = []
    for (let at = 0; at < level.length; at += FOLDERS_AT_ONCE) {
      const some = level.slice(at, at + FOLDERS_AT_ONCE)
      folders += some.length
      if (folders > limits.folders) return { names, isCut: true }
      const listed = await Promise.all(some.map(({ path }) => entriesOf(root, path)))
      for (const [i, folder] of some.entries())
        for (const entry of listed[i] ?? []) {
          const name = pathText(entry.name)
          const kind = entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "symlink" : "file"
          if (versionControl.has(name.toLowerCase()) || (kind === "file" && !entry.isFile())) continue
          if (names.length === limits.names) return { names, isCut: true }
          const path = folder.path === "" ? name : `${folder.path}/${name}`
          const isIgnored = folder.isIgnored || ignored.has(kind === "directory" ? `${path}/` : path)
          names.push(searchedPath(path, kind, isIgnored))
          if (kind === "directory") (isIgnored && !folder.isIgnored ? later : found).push({ path, isIgnored })
        }
    }
    next = found
  }
  return { names, isCut: false }
}

/** Workspaces whose names are kept at a time. */
const CACHED_WORKSPACES = 4
const CACHED_FOR = "10 seconds"
/** Names between two pauses. */
const STEP = 5_000

export class FileSearch extends Context.Service<
  FileSearch,
  {
    /** Best matches first. Without a query: the entries of the root. `root`: the real path of a workspace. */
    readonly find: (root: string, query: string, limit: number) => Effect.Effect<FoundFiles>
  }
>()("corral/edge/FileSearch") {
  static readonly layer = Layer.effect(
    FileSearch,
    Effect.gen(function* () {
      const { environment } = yield* EdgeConfig
      const program = findProgram("git", environment["PATH"])
      const names = yield* Cache.make({
        capacity: CACHED_WORKSPACES,
        timeToLive: CACHED_FOR,
        lookup: (root: string) => readFileNames(program, root)
      })
      return FileSearch.of({
        find: Effect.fn("FileSearch.find")(function* (root, query, limit) {
          return yield* matching(yield* Cache.get(names, root), query, limit)
        })
      })
    })
  )
}

/** `./src` and `src` are the same. */
const normalized = (query: string): string =>
  query
    .trim()
    .toLowerCase()
    .replace(/^(?:\.?\/)+/u, "")

/** One for the entries of a folder, then one for each rank. */
const GROUPS = RANKS + 1

const groupOf = (name: SearchedPath, part: string, folder: string | undefined): number | undefined => {
  if (folder !== undefined && isEntryOf(name, folder)) return 0
  const rank = part === "" ? undefined : rankOf(name, part)
  return rank === undefined ? undefined : rank + 1
}

const matching = Effect.fnUntraced(function* ({ isCut, names }: FileNames, query: string, limit: number) {
  const part = normalized(query)
  // Entries of a folder before what matches its name.
  const folder = part === "" || part.endsWith("/") ? part : undefined
  const groups = Array.from({ length: 2 * GROUPS }, (): Array<SearchedPath> => [])
  for (const [at, name] of names.entries()) {
    if (at % STEP === STEP - 1) yield* Effect.yieldNow
    const group = groupOf(name, part, folder)
    if (group !== undefined) groups[(name.isIgnored ? GROUPS : 0) + group]?.push(name)
  }
  const items: Array<FileEntry> = []
  for (const group of groups) {
    if (items.length === limit) break
    for (const { kind, nameAt, path } of group.toSorted(byLength).slice(0, limit - items.length))
      items.push({ path, name: path.slice(nameAt), kind })
  }
  const found: FoundFiles = isCut ? { items, truncated: true } : { items }
  return found
})
