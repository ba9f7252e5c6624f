/**
 * Folders of one mode's attempts: a workspace with a repository, a folder that the run does not see, one that it may only read, and the run's
 * own. All are in the probe's folder.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { makeFolder } from "@corral/service/MakeFolder"
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { canWrite } from "../ConfinedRoot.ts"
import type { EscapeTargets } from "./EscapeTargets.ts"
import { folderContents } from "./FolderContents.ts"
import { makeState } from "./StateAttempts.ts"

/** One file beside the bundle in a build, and several in the sources. */
const programFiles = (): ReadonlyArray<string> => {
  const built = fileURLToPath(new URL("./escapes.mjs", import.meta.url))
  return existsSync(built)
    ? [built]
    : [
        "EscapeProgram.ts",
        "Attempts.ts",
        "CallAttempts.ts",
        "FileAttempts.ts",
        "NetworkAttempts.ts",
        "RightsAttempts.ts",
        "StateAttempts.ts",
        "VisibleAttempts.ts"
      ].map((name) => fileURLToPath(new URL(name, import.meta.url)))
}

const write = (path: string, content: string): void => {
  makeFolder(dirname(path), 0o755)
  writeFileSync(path, content)
}

/** What a run that writes the workspace does not write. */
const PROTECTED = [
  ".git/config",
  ".git/hooks",
  ".git/info",
  ".vscode",
  ".zed",
  "packages/a/.vscode",
  "tools/diff.sh"
]

export interface EscapeScene {
  readonly workspace: string
  readonly temporary: string
  /** Folder with the program. The run may read it. */
  readonly program: string
  readonly targets: Pick<EscapeTargets, "hidden" | "shown" | "state" | "workspace" | "writable">
  /** Arguments of Node for the program. */
  readonly argumentsFor: (targets: EscapeTargets) => ReadonlyArray<string>
  /** What the run may not change. */
  readonly contents: () => ReadonlyArray<string>
  /** What is in the user's state of the runtime. */
  readonly stateContents: () => ReadonlyArray<string>
}

/** Makes the folders in `folder`. */
export const makeScene = (folder: string, mode: RunMode): EscapeScene => {
  const [workspace, outside, shown, state, temporary] = [
    join(folder, "workspace"),
    join(folder, "outside"),
    join(folder, "program"),
    join(folder, "state"),
    join(folder, "run")
  ]
  write(join(workspace, "file.txt"), "kept")
  write(join(workspace, ".vscode", "settings.json"), "{}")
  write(join(workspace, ".zed", "settings.json"), "{}")
  write(join(workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
  const settings = "[core]\n\trepositoryformatversion = 0\n[diff]\n\texternal = ./tools/diff.sh\n"
  write(join(workspace, ".git", "config"), settings)
  write(join(workspace, ".git", "info", "exclude"), "")
  write(join(workspace, "tools", "diff.sh"), "exit")
  write(join(workspace, "packages", "a", ".vscode", "settings.json"), "{}")
  for (const name of ["hooks", "objects", "refs"]) mkdirSync(join(workspace, ".git", name))
  for (const place of [outside, shown]) write(join(place, "kept.txt"), "kept")
  makeState(state, write)
  const files = programFiles()
  for (const file of files) copyFileSync(file, join(shown, basename(file)))
  // Each kind of attempts makes files of the same names.
  const writable = {
    hidden: join(temporary, "hidden"),
    shown: join(temporary, "shown"),
    workspace: join(temporary, "workspace"),
    calls: join(temporary, "calls")
  }
  for (const each of Object.values(writable)) makeFolder(each, 0o755)
  const isWritable = canWrite(mode)
  const watched = [outside, shown, ...(isWritable ? PROTECTED : [""]).map((name) => join(workspace, name))]
  return {
    workspace,
    temporary,
    program: shown,
    argumentsFor: (targets) => {
      // Not an argument itself: it names the process that the program looks for.
      const file = join(shown, "targets.json")
      writeFileSync(file, JSON.stringify(targets))
      return [join(shown, basename(files[0] ?? "")), file]
    },
    targets: {
      hidden: { folder: outside, file: join(outside, "kept.txt") },
      shown: { folder: shown, file: join(shown, "kept.txt") },
      state,
      workspace: { path: workspace, isWritable },
      writable
    },
    stateContents: () => folderContents(folder, state),
    contents: () =>
      watched.flatMap((each) => (existsSync(each) ? folderContents(folder, each) : [`${each} is missing`]))
  }
}
