/**
 * Looks at files and folders that an untrusted program may have made or may change meanwhile. What cannot be looked at counts as none.
 *
 * Guarantees: a link is not followed, a pipe or a device is not waited for, and no more of a file is read than the size that was checked, although
 * the file may grow meanwhile.
 */
import {
  closeSync,
  constants,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readSync,
  type Stats
} from "node:fs"

const MAX_BYTES = 65_536

/** `undefined` for a link, a pipe, a folder, a file of more than `max` bytes, or no file. */
export const smallFileBytes = (path: string | Buffer, max = MAX_BYTES): Buffer | undefined => {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = fstatSync(descriptor)
    if (!stats.isFile() || stats.size > max) return undefined
    const bytes = Buffer.alloc(stats.size)
    // A regular file gives all that it has at once. One that shrank gives less.
    return bytes.subarray(0, readSync(descriptor, bytes))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The content as text. */
export const smallFile = (path: string, max = MAX_BYTES): string | undefined =>
  smallFileBytes(path, max)?.toString("utf8")

/** Does not follow a link. */
export const statOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** `undefined` if it does not exist or cannot be opened. */
export const openFolder = (path: string, bufferSize: number): Dir | undefined => {
  try {
    return opendirSync(path, { bufferSize })
  } catch {
    return undefined
  }
}

/** Entries of the folder; none if it does not exist or cannot be read. */
export const folderEntries = (folder: string): ReadonlyArray<Dirent> => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
