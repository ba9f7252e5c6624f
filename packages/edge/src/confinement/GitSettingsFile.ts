/** The settings of Git of a run: a file with what it may read of the user's, in a folder of the run. */
import { lstatSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isWithin } from "../workspace/PathContainment.ts"
import { shownGitSettings } from "./ShownGitSettings.ts"
import type { Mount } from "./Mount.ts"

/** Relative to the home, in the order in which Git reads them: the last value counts. */
const FILES = [".config/git/config", ".gitconfig"]
const MAX_BYTES = 262_144

const contentOf = (path: string): string => {
  try {
    const stat = statSync(path)
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(path, "utf8") : ""
  } catch {
    return ""
  }
}

export interface GitSettingsFile {
  readonly mounts: ReadonlyArray<Mount>
  readonly env: Readonly<Record<string, string>>
}

export const noGitSettings: GitSettingsFile = { mounts: [], env: {} }

/** Whether the user has settings of Git. */
export const hasGitSettings = (home: string): boolean =>
  FILES.some((name) => lstatSync(join(home, name), { throwIfNoEntry: false }) !== undefined)

/** Writes the file into the folder, which the run reads. A means that mounts shows it instead of the user's files, others name it. */
export const writeGitSettings = (home: string, workspace: string, folder: string): GitSettingsFile => {
  const file = join(folder, "config")
  const text = FILES.map((name) => shownGitSettings(contentOf(join(home, name)))).join("")
  writeFileSync(file, text, { mode: 0o600 })
  return {
    mounts: [
      { kind: "read", path: folder },
      ...FILES.flatMap((name) => {
        const path = join(home, name)
        return !isWithin(workspace, path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true
          ? [{ kind: "read", path, source: file } as const]
          : []
      })
    ],
    env: { GIT_CONFIG_GLOBAL: file }
  }
}
