/**
 * Files of a folder that decisions read and write: a workspace, or the view of a layer. Other programs may change it at any time.
 *
 * Guarantees: no operation follows a link inside the folder, on Linux also if another process replaces a folder by a link meanwhile. Names are
 * bytes. Only regular files and links are read.
 */
import { Context } from "effect"
import { createHash } from "node:crypto"
import {
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import type { TreeEntry } from "../workspace/TreeDiff.ts"
import { contentId } from "./TreeContents.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
const SLASH = 0x2f

export const LINK = "120000"
export const PROGRAM = "100755"
export const FILE = "100644"

/** Writes of a decision, one call of the system each. Replaced in tests of crashes. */
export interface FileOperations {
  readonly makeFolder: (path: Buffer, mode: number) => void
  readonly removeFolder: (path: Buffer) => void
  /** Creates a file that does not exist, durably. `isExact`: with just these permissions; otherwise without those of the process's mask. */
  readonly write: (path: Buffer, content: Buffer, mode: number, isExact: boolean) => void
  readonly writeLink: (path: Buffer, target: Buffer) => void
  readonly giveTo: (path: Buffer, uid: number, gid: number) => void
  /** Gives a file another name. Fails if the name exists. */
  readonly link: (from: Buffer, to: Buffer) => void
  readonly rename: (from: Buffer, to: Buffer) => void
  readonly remove: (path: Buffer) => void
  readonly sync: (folder: Buffer) => void
}

/** Calls of the system. */
export const nodeOperations: FileOperations = {
  makeFolder: (path, mode) => void mkdirSync(path, { mode }),
  removeFolder: (path) => rmdirSync(path),
  write: (path, content, mode, isExact) => {
    const descriptor = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
    try {
      if (isExact) fchmodSync(descriptor, mode)
      writeFileSync(descriptor, content)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  },
  writeLink: (path, target) => symlinkSync(target, path),
  giveTo: (path, uid, gid) =>
    lstatSync(path).isSymbolicLink() ? lchownSync(path, uid, gid) : chownSync(path, uid, gid),
  link: (from, to) => linkSync(from, to),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => unlinkSync(path),
  sync: (folder) => {
    const descriptor = openSync(folder, O_RDONLY | O_DIRECTORY)
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}

export const ChangeFileOperations = Context.Reference<FileOperations>("corral/edge/ChangeFileOperations", {
  defaultValue: () => nodeOperations
})

/** `blocked`: a folder of its path is a file or a link. */
export type FoundFile =
  | { readonly kind: "file"; readonly entry: TreeEntry; readonly stats: Stats }
  | { readonly kind: "link"; readonly entry: TreeEntry; readonly stats: Stats }
  | { readonly kind: "absent" | "folder" | "other" | "blocked" }

export const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? ""

/** Parts of a path. */
const partsOf = (path: Buffer): ReadonlyArray<Buffer> => {
  const parts: Array<Buffer> = []
  for (let from = 0; from < path.length;) {
    const end = path.indexOf(SLASH, from)
    const to = end === -1 ? path.length : end
    parts.push(path.subarray(from, to))
    from = to + 1
  }
  return parts
}

/** The folder of a path; empty at the top. */
export const folderOfPath = (path: Buffer): Buffer => {
  const end = path.lastIndexOf(SLASH)
  return end === -1 ? Buffer.alloc(0) : path.subarray(0, end)
}

/** The folders around a path, the outermost first. */
export const foldersAround = (path: Buffer): ReadonlyArray<Buffer> => {
  const folders: Array<Buffer> = []
  for (let end = path.indexOf(SLASH); end !== -1; end = path.indexOf(SLASH, end + 1))
    folders.push(path.subarray(0, end))
  return folders
}

export const joinPath = (folder: Buffer, name: string | Buffer): Buffer =>
  folder.length === 0 ? Buffer.from(name) : Buffer.concat([folder, Buffer.from("/"), Buffer.from(name)])

const named = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from("/"), name])

export class FolderFiles {
  readonly #root: Buffer

  /** `root`: absolute path of the folder. */
  constructor(root: string) {
    this.#root = Buffer.from(root)
  }

  /**
   * Calls `use` with an absolute path that names `path`, whose folders are real ones. `missing` if one does not exist, `blocked` if one is not a
   * folder.
   */
  at<A>(path: Buffer, use: (absolute: Buffer) => A): A | "missing" | "blocked" {
    const parts = partsOf(path)
    // A descriptor itself is a link.
    const name = parts.at(-1) ?? Buffer.from(".")
    const opened: Array<number> = []
    try {
      let folder = this.#root
      for (const part of [undefined, ...parts.slice(0, -1)]) {
        const next = part === undefined ? folder : named(folder, part)
        let descriptor: number
        try {
          descriptor = openSync(next, OPEN_FOLDER)
        } catch (cause) {
          if (codeOf(cause) === "ENOENT") return "missing"
          if (["ENOTDIR", "ELOOP"].includes(codeOf(cause))) return "blocked"
          throw cause
        }
        opened.push(descriptor)
        folder = process.platform === "linux" ? Buffer.from(`/proc/self/fd/${descriptor}`) : next
      }
      return use(named(folder, name))
    } finally {
      for (const descriptor of opened) closeSync(descriptor)
    }
  }

  /** What has this name. */
  look(path: Buffer): FoundFile {
    try {
      const found = this.at(path, lookAt)
      return found === "missing" ? { kind: "absent" } : found === "blocked" ? { kind: found } : found
    } catch (cause) {
      // It went away, became a link, or cannot be read.
      return { kind: codeOf(cause) === "ENOENT" ? "absent" : "other" }
    }
  }

  /** Content of a regular file of up to `max` bytes, or target of a link; `undefined` if there is none. */
  read(path: Buffer, max: number): Buffer | undefined {
    const found = this.at(path, (absolute) => readAt(absolute, max))
    return found === "missing" || found === "blocked" ? undefined : found
  }

  /** Facts of a file, a link or a folder. */
  stat(path: Buffer): Stats | undefined {
    const found = this.at(path, (absolute) => lstatSync(absolute, { throwIfNoEntry: false }))
    return found === "missing" || found === "blocked" ? undefined : found
  }

  /** What is in a folder, with its path; nothing if there is no folder. */
  list(folder: Buffer): ReadonlyArray<{ readonly path: Buffer; readonly isFolder: boolean }> {
    const found = this.at(joinPath(folder, "."), (absolute) => {
      try {
        return readdirSync(absolute, { withFileTypes: true, encoding: "buffer" })
      } catch (cause) {
        if (["ENOENT", "ENOTDIR"].includes(codeOf(cause))) return []
        throw cause
      }
    })
    return found === "missing" || found === "blocked"
      ? []
      : found.map((entry) => ({ path: joinPath(folder, entry.name), isFolder: entry.isDirectory() }))
  }
}

const modeOf = (stats: Stats): string => ((stats.mode & 0o100) === 0 ? FILE : PROGRAM)

const lookAt = (absolute: Buffer): FoundFile => {
  const stats = lstatSync(absolute, { throwIfNoEntry: false })
  if (stats === undefined) return { kind: "absent" }
  if (stats.isSymbolicLink())
    return {
      kind: "link",
      entry: { mode: LINK, id: contentId(readlinkSync(absolute, { encoding: "buffer" })) },
      stats
    }
  if (stats.isDirectory()) return { kind: "folder" }
  return stats.isFile() ? hashAt(absolute) : { kind: "other" }
}

const CHUNK = 1_048_576

const openFile = (absolute: Buffer): number => openSync(absolute, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)

/** Attempts to read a file that another program writes meanwhile. */
const ATTEMPTS = 4

/** The id counts the size first. A file that does not come to rest is other than any content. */
const hashAt = (absolute: Buffer): FoundFile => {
  const descriptor = openFile(absolute)
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const stats = fstatSync(descriptor)
      if (!stats.isFile()) return { kind: "other" }
      const hash = createHash("sha1").update(`blob ${stats.size}\0`)
      const chunk = Buffer.alloc(Math.min(CHUNK, stats.size + 1))
      let size = 0
      for (let read = -1; read !== 0 && size <= stats.size; size += read) {
        read = readSync(descriptor, chunk, 0, chunk.length, size)
        hash.update(chunk.subarray(0, read))
      }
      if (size === stats.size)
        return { kind: "file", entry: { mode: modeOf(stats), id: hash.digest("hex") }, stats }
    }
    return { kind: "other" }
  } finally {
    closeSync(descriptor)
  }
}

const readAt = (absolute: Buffer, max: number): Buffer | undefined => {
  const stats = lstatSync(absolute, { throwIfNoEntry: false })
  if (stats?.isSymbolicLink() === true) return readlinkSync(absolute, { encoding: "buffer" })
  if (stats?.isFile() !== true || stats.size > max) return undefined
  const descriptor = openFile(absolute)
  try {
    const { size } = fstatSync(descriptor)
    if (size > max) return undefined
    const bytes = Buffer.alloc(size)
    let length = 0
    for (let read = -1; read !== 0 && length < size; length += read)
      read = readSync(descriptor, bytes, length, size - length, length)
    return bytes.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}
