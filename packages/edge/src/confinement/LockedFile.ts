/**
 * Files of a repository that are replaced as git replaces them. Names are texts of `PathText`.
 *
 * Guarantees: nothing is written or removed through a link that is there when the path is checked.
 * Does not: keep away a program that changes folders meanwhile.
 */
import { linkSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathBytes } from "../workspace/PathText.ts"

const statOf = (path: string) => lstatSync(pathBytes(path), { throwIfNoEntry: false })

export const isRealFolder = (path: string): boolean => statOf(path)?.isDirectory() === true

/** Whether there is something that is no file and no folder, such as a link. */
export const isIrregular = (path: string): boolean => {
  const stat = statOf(path)
  return stat !== undefined && !stat.isFile() && !stat.isDirectory()
}

/** Path of a file in the folder `top`, whose folders exist and are no links. */
export const realPath = (top: string, name: string): string => {
  let at = top
  for (const part of dirname(name).split("/")) {
    if (part === ".") continue
    at = join(at, part)
    if (statOf(at) === undefined) mkdirSync(pathBytes(at))
    else if (!isRealFolder(at)) throw new Error(`${part} is not a folder`)
  }
  return join(top, name)
}

/** Removes a file, a link, or a folder with everything in it. */
export const removeEntry = (path: string): void => rmSync(pathBytes(path), { recursive: true, force: true })

/** A lock of git's kind keeps other programs away. */
export const replaceLocked = (path: string, content: Buffer | string): void => {
  const [temporary, lock] = [pathBytes(`${path}.corral`), pathBytes(`${path}.lock`)]
  rmSync(temporary, { force: true })
  writeFileSync(temporary, content, { mode: 0o644, flag: "wx" })
  try {
    linkSync(temporary, lock)
    renameSync(lock, pathBytes(path))
  } finally {
    rmSync(temporary, { force: true })
  }
}
