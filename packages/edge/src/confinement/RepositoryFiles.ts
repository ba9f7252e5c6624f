/**
 * Files of a repository that git reads or may read, other than objects: refs, unfinished operations, stashes, lists of further objects, and every
 * name that is not listed as data here. The repository may be hostile.
 *
 * Guarantees: no link is followed, nothing is waited for, and the work is bounded. A result that reached a limit says so.
 *
 * Does not: read objects and what git derives from them, reflogs other than the list of stashes, or settings and hooks, which are protected names.
 * Of the repositories of submodules and linked worktrees only the names count: a confined run cannot write those that exist.
 */
import { createHash } from "node:crypto"
import { type Dirent, lstatSync, readdirSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { pathBytes, pathText } from "../workspace/PathText.ts"
import { smallFileBytes } from "../workspace/UntrustedFiles.ts"

export interface RepositoryFiles {
  /** Values by name, relative to the repository. */
  readonly refs: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, string>
  readonly isComplete: boolean
}

export interface FileLimits {
  readonly names: number
  readonly depth: number
  /** Bytes of one file, and of all. */
  readonly fileBytes: number
  readonly bytes: number
}

const LIMITS: FileLimits = { names: 100_000, depth: 20, fileBytes: 16_777_216, bytes: 67_108_864 }
const MAX_REF = 65_536

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Names at the top of a repository that are read by their meaning, are protected names, or are data that git does not obey. */
const notRead = named(
  "HEAD index packed-refs config config.worktree hooks description COMMIT_EDITMSG gc.pid gc.log lfs annex " +
    "fsmonitor--daemon fsmonitor--daemon.ipc"
)
/** Folders of which only these names count. */
const countedNames: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["objects", named("info")],
  ["objects/info", named("alternates http-alternates")],
  ["logs", named("refs")],
  ["logs/refs", named("stash")]
])
/** Folders of which only the names count, and not what is in them. */
const namesOnly = named("modules worktrees")
/** For clients that read the repository as plain files: git derives it from the refs. */
const derived = named("info/refs")

/** What a link, a pipe or a file that is too large has as its value. */
const valueOfOther = (path: Buffer): string => {
  try {
    const { ctimeNs, ino, mode, size } = lstatSync(path, { bigint: true })
    return (Number(mode) & 0o170000) === 0o120000
      ? `>${pathText(readlinkSync(path, "buffer"))}`
      : `@${mode} ${ino} ${size} ${ctimeNs}`
  } catch {
    return "@"
  }
}

/** Value of a file with this content. */
export const valueOfContent = (bytes: Buffer): string =>
  `=${createHash("sha256").update(bytes).digest("hex")}`

/** Whether the content of a file with this value was read. */
export const isContent = (value: string): boolean => value.startsWith("=")

/** Value of one file. */
export const fileValue = (path: Buffer, max = LIMITS.fileBytes): string => {
  const bytes = smallFileBytes(path, max)
  return bytes === undefined ? valueOfOther(path) : valueOfContent(bytes)
}

const entriesOf = (path: string): ReadonlyArray<Dirent<Buffer>> => {
  try {
    return lstatSync(path).isDirectory()
      ? readdirSync(pathBytes(path), { withFileTypes: true, encoding: "buffer" })
      : []
  } catch {
    return []
  }
}

const isCounted = (folder: string, name: string): boolean => {
  const counted = countedNames.get(folder)
  const path = folder === "" ? name : `${folder}/${name}`
  if (counted !== undefined) return counted.has(name)
  return !name.endsWith(".lock") && !derived.has(path) && !(folder === "" && notRead.has(name))
}

/** Reads a repository, a `.git`. */
export const repositoryFiles = (repository: string, limits: FileLimits = LIMITS): RepositoryFiles => {
  const [refs, files] = [new Map<string, string>(), new Map<string, string>()]
  const folders: Array<readonly [folder: string, depth: number]> = [["", 0]]
  let [bytes, isComplete] = [0, true]
  for (const [folder, depth] of folders) {
    for (const entry of entriesOf(join(repository, folder))) {
      const name = pathText(entry.name)
      if (!isCounted(folder, name)) continue
      const inside = folder === "" ? name : `${folder}/${name}`
      if (refs.size + files.size + folders.length > limits.names) return { refs, files, isComplete: false }
      if (entry.isDirectory()) {
        if (namesOnly.has(folder)) files.set(inside, "folder")
        else if (depth < limits.depth) folders.push([inside, depth + 1])
        else isComplete = false
        continue
      }
      const path = pathBytes(join(repository, inside))
      if (inside.startsWith("refs/")) {
        refs.set(inside, smallFileBytes(path, MAX_REF)?.toString("utf8").trim() ?? valueOfOther(path))
        continue
      }
      const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
      const left = Math.min(limits.fileBytes, limits.bytes - bytes)
      if (size <= left) bytes += size
      files.set(inside, fileValue(path, Math.max(0, left)))
    }
  }
  return { refs, files, isComplete }
}
