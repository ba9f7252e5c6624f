/**
 * What the repository of a run takes from the repository of its workspace: its format, its settings, and the folders with its objects. Read
 * without git. Everything is untrusted: an earlier run may have written it.
 */
import { lstatSync, realpathSync } from "node:fs"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"
import { copiedSettings } from "./CopiedSettings.ts"
import { type GitSetting, gitSettings } from "./GitSettings.ts"
import { smallFile } from "./SmallFile.ts"

export type ObjectFormat = "sha1" | "sha256"

export interface WorkspaceRepository {
  readonly format: ObjectFormat
  /** Name of the remote that has the missing objects of a partial clone. */
  readonly partialRemote: string | undefined
  readonly settings: ReadonlyArray<GitSetting>
  /** Commits whose parents a shallow clone does not have, as git lists them. */
  readonly shallow: string | undefined
  readonly exclude: string | undefined
}

/** A folder with objects, as git names it, and its real path. */
export interface ObjectFolder {
  readonly path: string
  readonly real: string
}

const MAX_SETTINGS = 1_048_576
const MAX_SHALLOW = 16_777_216
const MAX_FOLDERS = 20
/** As deep as git follows alternates. */
const MAX_DEPTH = 5

const valueOf = (settings: ReadonlyArray<GitSetting>, section: string, key: string): string | undefined =>
  settings.findLast((setting) => setting.section === section && setting.key === key)?.value

/** Reads the repository at `folder`, a `.git`. */
export const readWorkspaceRepository = (folder: string): WorkspaceRepository => {
  const settings = gitSettings(smallFile(join(folder, "config"), MAX_SETTINGS) ?? "")
  return {
    format: valueOf(settings, "extensions", "objectformat")?.toLowerCase() === "sha256" ? "sha256" : "sha1",
    partialRemote:
      valueOf(settings, "extensions", "partialclone") ??
      settings.find(
        ({ key, section, value }) => section === "remote" && key === "promisor" && value === "true"
      )?.subsection,
    settings: copiedSettings(settings),
    shallow: smallFile(join(folder, "shallow"), MAX_SHALLOW),
    exclude: smallFile(join(folder, "info", "exclude"))
  }
}

/** The real path of a folder of objects: it is called so, and is part of a repository. */
const objectFolder = (path: string): string | undefined => {
  try {
    const real = realpathSync(path)
    const isFolder = (each: string) => lstatSync(each, { throwIfNoEntry: false })?.isDirectory() === true
    const around = dirname(real)
    const isPart =
      isFolder(join(around, "refs")) && lstatSync(join(around, "HEAD"), { throwIfNoEntry: false })
    return basename(real) === "objects" && isFolder(real) && isPart !== false && isPart !== undefined
      ? real
      : undefined
  } catch {
    return undefined
  }
}

/** Folders whose objects the repository at `folder` has: its own, and those that it borrows from. Others are left out. */
export const objectFoldersOf = (folder: string): ReadonlyArray<ObjectFolder> => {
  const found = new Map<string, ObjectFolder>()
  let level = [join(folder, "objects")]
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const next: Array<string> = []
    for (const path of level) {
      const real = objectFolder(path)
      if (real === undefined || found.has(path) || found.size >= MAX_FOLDERS) continue
      found.set(path, { path, real })
      const lines = (smallFile(join(real, "info", "alternates")) ?? "").split("\n")
      for (const line of lines)
        if (line !== "" && !line.startsWith("#"))
          next.push(isAbsolute(line) ? resolve(line) : resolve(path, line))
    }
    level = next
  }
  return [...found.values()]
}
