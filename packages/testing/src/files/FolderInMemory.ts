/**
 * Folder for files of a test run that need not survive it: in memory where there is space, else the one for temporary files.
 *
 * A copy of a database is 300 files. On ext4 a new file searches past the inodes of files that were deleted a short time before, so each
 * further copy costs more system time than the one before.
 */
import { accessSync, constants, realpathSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"

const MEMORY = "/dev/shm"
/** Containers have 64 MiB by default. */
const ENOUGH_BYTES = 2 * 1024 ** 3

const hasSpace = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= ENOUGH_BYTES
  } catch {
    return false
  }
}

export const folderInMemory = (): string => realpathSync(hasSpace(MEMORY) ? MEMORY : tmpdir())
