/** Folders that only this user can list. Links are never followed. */
import { makeFolder } from "@corral/service/MakeFolder"
import { chmodSync, lstatSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"

/** Whether it is a folder of this user and not a link. Other users can create files in the system's temporary folder. */
export const isOurFolder = (folder: string): boolean => {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && (process.getuid === undefined || stat.uid === process.getuid())
}

/** Creates the folder with its parents unless it exists, and takes away the permissions of others. Throws for a folder of another user. */
export const keepFolderPrivate = (folder: string): void => {
  makeFolder(folder)
  if (!isOurFolder(folder)) throw new Error(`${folder} is a link, or belongs to another user`)
  chmodSync(folder, 0o700)
}

/** Throws if the folder exists, or if its parent belongs to another user. */
export const makeTemporary = (folder: string): void => {
  keepFolderPrivate(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}
