/**
 * Folder that is created with its missing parents.
 *
 * Guarantees: returns or throws for every path. Node's own recursive creation never ends below a parent that exists and accepts no
 * entries by answering ENOENT, as `/proc` does. `npm run check` refuses Node's in the sources of the services.
 */
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The error of the operating system; `undefined` if the folder exists afterwards. */
const problemOf = (path: string, mode: number): NodeJS.ErrnoException | undefined => {
  try {
    mkdirSync(path, { mode })
    return undefined
  } catch (cause) {
    if (isFolder(path)) return undefined
    // `mkdirSync` throws no other errors for a string without NUL, and a `TypeError` with a code for one with it.
    return cause as NodeJS.ErrnoException
  }
}

/** Creates the folder unless it exists. `mode` is that of each created folder. Throws the error of the operating system. */
export const makeFolder = (path: string, mode = 0o700): void => {
  const first = problemOf(path, mode)
  if (first === undefined) return
  const parent = dirname(path)
  if (first.code !== "ENOENT" || parent === path) throw first
  makeFolder(parent, mode)
  const second = problemOf(path, mode)
  if (second !== undefined) throw second
}
