/**
 * State folders of a runtime on this machine. Missing folders are created, because a mount needs a folder.
 *
 * Does not: protect a file that does not exist yet, or a link. The state is writable by runs, so a link in it may lead anywhere.
 */
import type { RuntimeFolders, StateFolder } from "@corral/domain/run/RuntimeFolders"
import { makeFolder } from "@corral/service/MakeFolder"
import { existsSync, lstatSync } from "node:fs"
import { isAbsolute, join, resolve } from "node:path"
import type { MountedState } from "./ConfinedRoot.ts"
import { isInFolder } from "./Mount.ts"

/** Where the variables of a run put the folder. */
export const statePath = (
  { path, variable }: StateFolder,
  env: Readonly<Record<string, string>>,
  home: string
): string => {
  const named = variable === undefined ? undefined : env[variable]
  return named !== undefined && isAbsolute(named) ? resolve(named) : join(home, path)
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Existing paths that no run may write. */
const executedPaths = (folder: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => {
    const isOfFolder = name.endsWith("/")
    const path = join(folder, isOfFolder ? name.slice(0, -1) : name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined && isOfFolder) makeFolder(path)
    return (isOfFolder ? isFolder(path) : stat?.isFile() === true) ? [path] : []
  })

const resolved = (folder: StateFolder, path: string): ReadonlyArray<MountedState> => {
  if (folder.kind === "file") return existsSync(path) ? [{ path, executed: [] }] : []
  makeFolder(path)
  return [{ path, executed: executedPaths(path, folder.executed ?? []) }]
}

/** State that the run mounts. A path that contains the home or the Edge's files is left out. */
export const resolveState = (
  folders: RuntimeFolders | undefined,
  env: Readonly<Record<string, string>>,
  home: string,
  edgeFolder: string
): ReadonlyArray<MountedState> =>
  (folders?.state ?? []).flatMap((folder) => {
    const path = statePath(folder, env, home)
    return isInFolder(path, home) || isInFolder(path, edgeFolder) ? [] : resolved(folder, path)
  })
