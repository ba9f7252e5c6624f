/**
 * Files of a run's program that exist before it starts: its temporary folder with settings files and the folder for files that it publishes as
 * artifacts, and its control group.
 */
import { commandInGroup, makeGroup } from "./ControlGroup.ts"
import { makeTemporary } from "./PrivateFolder.ts"
import type { SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import { accessSync, constants, mkdirSync, opendirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Variable of the run's program with the path of the folder. */
export const ARTIFACTS_VARIABLE = "CORRAL_ARTIFACTS"

/** Folder of a run for files that its program publishes as artifacts. */
export const artifactsFolderIn = (temporary: string): string => join(temporary, "artifacts")

/** Whether the folder has an entry. */
export const hasArtifactFiles = (temporary: string): boolean => {
  try {
    const folder = opendirSync(artifactsFolderIn(temporary))
    const first = folder.readSync()
    folder.closeSync()
    return first !== null
  } catch {
    return false
  }
}

export interface ProgramFilesSpec {
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** The control group of the process. */
  readonly group?: string | undefined
  /** Whether what starts the process is in its group. */
  readonly isInGroup?: boolean | undefined
  /** Its private temporary folder, which its environment contains. */
  readonly temporary?: string | undefined
  /** Files that are written into the temporary folder before the start. */
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
}

/** Creates the files. Returns the command that starts the program inside its group. Throws the error of the operating system. */
export const makeProgramFiles = ({
  args,
  file,
  group,
  isInGroup = false,
  settingsFiles = [],
  temporary
}: ProgramFilesSpec): { readonly file: string; readonly args: ReadonlyArray<string> } => {
  if (temporary !== undefined) {
    makeTemporary(temporary)
    mkdirSync(artifactsFolderIn(temporary), { mode: 0o700 })
    for (const { content, name } of settingsFiles)
      writeFileSync(join(temporary, name), content, { mode: 0o600 })
  }
  if (group === undefined) return { file, args }
  // The shell that enters the group would report a missing program as an exit code.
  accessSync(file, constants.X_OK)
  if (isInGroup) return { file, args }
  makeGroup(group)
  return commandInGroup(group, file, args)
}
