/**
 * Lists of further objects in a repository that a run has made. Git reads objects from the folders that they name, and so would later runs in
 * worktrees of it. A repository that exists when a run starts has read-only lists.
 *
 * Guarantees: nothing is removed through a link, also if a process of the run is still alive.
 */
import { join } from "node:path"
import { endNewRepository, newRepositories } from "../workspace/NewRepository.ts"
import { OpenedFolder } from "./OpenedFolder.ts"

const FOLDERS = [".git", "objects", "info"]
const LISTS = new Set(["alternates", "http-alternates"])

/** Removes the lists of the repository of the folder `root`. Returns their names in the repository. */
export const removeForeignLists = (root: string): ReadonlyArray<string> =>
  OpenedFolder.with(root, FOLDERS, (folder) =>
    folder.entries().flatMap(({ kind, name }) => {
      const isList = LISTS.has(name) && (kind === "file" || kind === "link")
      const found = isList && kind === "file" ? folder.readBytes(name, 0) : undefined
      // A confined run in an existing repository has an empty one.
      if (!isList || typeof found === "object") return []
      folder.remove(name)
      return [join("objects/info", name)]
    })
  ) ?? []

/** Removes the lists of repositories whose runs ended with their Edge. */
export const removeLeftLists = (home: string, live: ReadonlySet<string>): void => {
  for (const { root, runId } of newRepositories(home))
    if (!live.has(runId)) {
      removeForeignLists(root)
      endNewRepository(home, runId)
    }
}
