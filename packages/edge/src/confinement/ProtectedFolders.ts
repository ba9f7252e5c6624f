/**
 * Folders of a workspace from which programs of this machine execute something by themselves: editors, hooks and agents. Runs read them.
 *
 * Guarantees: the search is bounded by its names and its depth. Folders near the top come first.
 * Does not: protect a folder that does not exist when the run starts. A mount needs a folder.
 */
import { lstatSync } from "node:fs"
import { join } from "node:path"
import { installedFolders } from "../approval/FileNames.ts"
import { folderEntries } from "../workspace/FolderEntries.ts"

const NAMES = [
  ".agents",
  ".claude",
  ".codex",
  ".copilot",
  ".cursor",
  ".devcontainer",
  ".gemini",
  ".githooks",
  ".husky",
  ".idea",
  ".kimi",
  ".kimi-code",
  ".opencode",
  ".pi",
  ".qwen",
  ".vscode",
  ".zed"
]
const protectedNames = new Set(NAMES)

const MAX_NAMES = 5_000
const MAX_DEPTH = 5
/** Mounts of one run. */
const MAX_FOLDERS = 100

/** Those below the top, such as in the packages of a project. */
const nestedFolders = (root: string, maxNames: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const pending: Array<readonly [folder: string, depth: number]> = [[root, 0]]
  let names = 0
  for (const [folder, depth] of pending) {
    for (const entry of folderEntries(folder)) {
      if (++names > maxNames || found.length >= MAX_FOLDERS) return found
      if (!entry.isDirectory()) continue
      const path = join(folder, entry.name)
      if (protectedNames.has(entry.name)) {
        if (depth > 0) found.push(path)
      } else if (depth < MAX_DEPTH && !entry.name.startsWith(".") && !installedFolders.has(entry.name))
        pending.push([path, depth + 1])
    }
  }
  return found
}

/** Those that exist. A link is not followed. */
export const protectedFolders = (root: string, maxNames = MAX_NAMES): ReadonlyArray<string> => [
  ...NAMES.map((name) => join(root, name)).filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  ),
  ...nestedFolders(root, maxNames)
]
