/**
 * Lists of further objects in a repository that a run has made. Git reads objects from the folders that they name, and so would later runs in
 * worktrees of it. A repository that exists when a run starts has read-only lists.
 *
 * Guarantees: nothing is removed through a link.
 */
import { lstatSync, rmSync } from "node:fs"
import { join } from "node:path"

const FOLDERS = [".git", ".git/objects", ".git/objects/info"]
const LISTS = ["alternates", "http-alternates"]

/** Removes the lists of the repository of the folder `root`. Call it when no process of the run is alive. Returns their names in the repository. */
export const removeForeignLists = (root: string): ReadonlyArray<string> => {
  const isReal = FOLDERS.every(
    (name) => lstatSync(join(root, name), { throwIfNoEntry: false })?.isDirectory() === true
  )
  if (!isReal) return []
  return LISTS.flatMap((name) => {
    const path = join(root, ".git/objects/info", name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || (stat.isFile() && stat.size === 0)) return []
    rmSync(path, { recursive: true, force: true })
    return [`objects/info/${name}`]
  })
}
