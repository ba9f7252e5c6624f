/**
 * Small private file that is replaced as a whole.
 *
 * Guarantees: when the call returns, the content survives a loss of power. A crash leaves the old content or the new one.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

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
