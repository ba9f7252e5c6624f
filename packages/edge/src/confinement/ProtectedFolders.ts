/**
 * Folders at the top of a workspace from which programs of this machine execute something by themselves: editors, hooks and agents. Runs
 * read them.
 *
 * Does not: protect a folder that does not exist when the run starts. A mount needs a folder.
 */
import { lstatSync } from "node:fs"
import { join } from "node:path"

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

/** Those that exist. A link is not followed. */
export const protectedFolders = (root: string): ReadonlyArray<string> =>
  NAMES.map((name) => join(root, name)).filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  )
