/**
 * Global setup: temporary files of a test run are in memory where there is space and programs may run from there, else where they were.
 *
 * Tests make thousands of small files, repositories and SQLite databases that end with them. On a disk each write of a database waits for it. A
 * copy of a database is 300 files: on ext4 a new file searches past the inodes of files that were deleted a short time before, so each further copy
 * costs more system time than the one before. Tests kill processes, not the machine, so nothing needs to survive the run; the folder is removed
 * after it.
 */
import { spawnSync } from "node:child_process"
import { accessSync, constants, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

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

/** Folder for files of a test run that need not survive it: in memory where there is space, else the one for temporary files. */
export const folderInMemory = (): string => realpathSync(hasSpace(MEMORY) ? MEMORY : tmpdir())

const LASTING_VARIABLE = "CORRAL_TEST_LASTING_FILES"

/** Folder for files that later test runs use again. */
export const lastingFolder = (): string => process.env[LASTING_VARIABLE] ?? tmpdir()

/** Containers mount memory without execution of its files, and tests run programs that they write. */
const canExecute = (folder: string): boolean => {
  const program = join(folder, "program")
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

export default (): (() => void) => {
  const folder = mkdtempSync(join(folderInMemory(), "corral-"))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  if (!canExecute(folder)) {
    remove()
    return () => undefined
  }
  const before = process.env["TMPDIR"]
  process.env[LASTING_VARIABLE] ??= tmpdir()
  process.env["TMPDIR"] = folder
  return () => {
    delete process.env["TMPDIR"]
    if (before !== undefined) process.env["TMPDIR"] = before
    remove()
  }
}
