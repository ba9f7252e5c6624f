/**
 * Names of the files and folders of a workspace, in its whole depth. Ignored files come last.
 *
 * Guarantees: nothing of version control is named, nothing in folders that hold credentials, and nothing outside of the root: links are named, not
 * followed, also where a folder becomes one meanwhile. The number of folders and names is bounded.
 * Does not: open files.
 */
import { Effect } from "effect"
import { constants } from "node:fs"
import { open, readdir, readlink, realpath } from "node:fs/promises"
import { relative } from "node:path"
import { holdsCredentials } from "./CredentialFiles.ts"
import { git } from "./Git.ts"
import { type SearchedPath, searchedPath } from "./NameMatch.ts"
import { isWithin } from "./PathContainment.ts"
import { pathBytes, pathText } from "./PathText.ts"
import { splitZeroTerminated } from "./ShadowRepository.ts"

export interface FileNames {
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
