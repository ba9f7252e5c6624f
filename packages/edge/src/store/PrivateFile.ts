/**
 * Files that only their owner can read: made private, or replaced as a whole.
 *
 * Guarantees: when `writeDurably` returns, the content survives a loss of power. A crash leaves the old content or the new one.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/** Creates the file with its owner's permissions first, because SQLite gives its side files the mode of the database. */
export const keepPrivate = (file: string): void => {
  closeSync(openSync(file, "a", 0o600))
  chmodSync(file, 0o600)
}

/** Throws the error of the operating system. */
export const writeDurably = (file: string, text: string): void => {
  makeFolder(dirname(file))
  const fresh = `${file}.${process.pid}`
  rmSync(fresh, { force: true })
  const descriptor = openSync(fresh, "wx", 0o600)
  try {
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(fresh, file)
  const folder = openSync(dirname(file), "r")
  fsyncSync(folder)
  closeSync(folder)
}
