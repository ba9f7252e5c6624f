/**
 * Content of a small regular file that an untrusted program may have written.
 *
 * Guarantees: a link is not followed, and a pipe or a device is not waited for.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs"

const MAX_BYTES = 65_536

/** `undefined` for a link, a pipe, a folder, a file of more than `max` bytes, or no file. */
export const smallFileBytes = (path: string | Buffer, max = MAX_BYTES): Buffer | undefined => {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = fstatSync(descriptor)
    return stats.isFile() && stats.size <= max ? readFileSync(descriptor) : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The content as text. */
export const smallFile = (path: string, max = MAX_BYTES): string | undefined =>
  smallFileBytes(path, max)?.toString("utf8")
