/**
 * Mounts of the repository that a run works in: that of the workspace, or of a run in a worktree its own. Git executes the repository's hooks and
 * what its settings name, and reads objects from the folders that `alternates` lists, so a run that may write the repository writes none of them.
 *
 * The repository's folder is mounted onto itself, because a folder that is not a mount can be renamed with the mounts in it. Everything in it is
 * untrusted: an earlier run may have made it. If a part is not a real folder or file, the whole repository is read-only.
 *
 * Does not: prevent files with other names that Git obeys, such as `commondir`.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { readFileSync, realpathSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { statOf } from "../workspace/UntrustedFiles.ts"
import type { LayerRepositoryFiles } from "../layer/LayerRepository.ts"
import type { IsolatedFolders } from "../workspace/Git.ts"
import type { ObjectFolder } from "../workspace/WorkspaceRepository.ts"
import type { BindMount, Mount } from "./Mount.ts"

const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true
const isMissing = (path: string): boolean => statOf(path) === undefined

/** Files in the repository that Git obeys. */
const SETTINGS = ["config", "config.worktree"]
/** The same in the part of a linked worktree. */
const SETTINGS_OF_PART = ["commondir", "gitdir", "config.worktree"]

const existing = (folder: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name) => join(folder, name)).filter((path) => !isMissing(path))

/**
 * Mounts of the objects of a repository that a run may write. The run adds no folder with further objects, because later runs read those folders.
 * `undefined` if a part is not a real folder or file. An empty list of folders is the same as none.
 */
const writableObjects = (folder: string): ReadonlyArray<BindMount> | undefined => {
  const objects = join(folder, "objects")
  const info = join(objects, "info")
  const alternates = join(info, "alternates")
  if (!isFolder(objects)) return undefined
  if (isMissing(info)) makeFolder(info, 0o755)
  if (!isFolder(info)) return undefined
  if (isMissing(alternates)) writeFileSync(alternates, "", { flag: "wx", mode: 0o644 })
  if (statOf(alternates)?.isFile() !== true) return undefined
  return [
    { kind: "write", path: objects },
    { kind: "write", path: info },
    { kind: "read", path: alternates }
  ]
}

/** Mounts of a repository that a run may write. `part`: the part of a linked worktree. */
const writable = (folder: string, part?: string): ReadonlyArray<BindMount> => {
  const readOnly: ReadonlyArray<BindMount> = [{ kind: "read", path: folder }]
  const hooks = join(folder, "hooks")
  if (isMissing(hooks)) makeFolder(hooks, 0o755)
  // Repositories of submodules have hooks and settings of their own.
  const others = existing(folder, ["info", "modules", "worktrees"])
  const settings = existing(folder, SETTINGS)
  const settingsOfPart = part === undefined ? [] : existing(part, SETTINGS_OF_PART)
  const isPlain =
    isFolder(hooks) &&
    settings.includes(join(folder, "config")) &&
    [...settings, ...settingsOfPart].every((path) => statOf(path)?.isFile() === true) &&
    others.every(isFolder)
  const objects = isPlain ? writableObjects(folder) : undefined
  if (objects === undefined) return readOnly
  return [
    { kind: "write", path: folder },
    ...objects,
    ...[hooks, ...settings, ...others].map((path) => ({ kind: "read", path }) as const),
    ...(part === undefined ? [] : [{ kind: "write", path: part } as const]),
    ...settingsOfPart.map((path) => ({ kind: "read", path }) as const)
  ]
}

const firstLineOf = (path: string): string | undefined => {
  const stat = statOf(path)
  return stat?.isFile() === true && stat.size <= 4_096
    ? readFileSync(path, "utf8").split("\n", 1)[0]?.trim()
    : undefined
}

/**
 * The part of the repository that belongs to a linked worktree. Only if that part names the worktree, too: otherwise a run could make a file
 * that leads to another repository.
 */
export const partOfWorktree = (root: string): string | undefined => {
  const at = join(root, ".git")
  const named = /^gitdir: (.+)$/.exec(firstLineOf(at) ?? "")?.[1]
  if (named === undefined) return undefined
  const part = resolve(root, named)
  const isOwn =
    basename(dirname(part)) === "worktrees" && isFolder(part) && firstLineOf(join(part, "gitdir")) === at
  return isOwn && realpathSync(part) === part ? part : undefined
}

/** Folders with objects that a run reads. Git may name a folder by another path than its real one. */
export const objectMounts = (objects: ReadonlyArray<ObjectFolder>): ReadonlyArray<Mount> =>
  objects.flatMap(({ path, real }): ReadonlyArray<Mount> => [
    { kind: "read", path: real },
    ...(path === real ? [] : [{ kind: "read", path, source: real } as const])
  ])

/** Mounts of a run's own repository, for the worktree `root`. Of the workspace's repository it reads the objects. */
export const runRepositoryMounts = (
  root: string,
  { objects, repository }: IsolatedFolders,
  isWritable: boolean
): ReadonlyArray<Mount> => [
  { kind: "read", path: join(root, ".git") },
  ...objectMounts(objects),
  ...(isWritable ? writable(repository) : [{ kind: "read", path: repository } as const])
]

/**
 * Mounts of the repository of a run in a layer, at the place of the workspace's. The objects of that are at other paths. Without a separate one,
 * the run sees a repository outside the workspace as it is, read-only.
 */
export const layerRepositoryMounts = (
  root: string,
  repository: LayerRepositoryFiles | undefined,
  isWritable: boolean
): ReadonlyArray<Mount> => {
  if (repository === undefined) return repositoryMounts(root, false)
  const { folder, objects } = repository
  const mounts = isWritable ? writable(folder) : [{ kind: "read", path: folder } as const]
  return [
    ...mounts.map((mount): Mount => ({
      ...mount,
      path: join(root, ".git", relative(folder, mount.path)),
      source: mount.path
    })),
    ...objects.map(({ path, real }): Mount => ({ kind: "read", path, source: real }))
  ]
}

/** Mounts of the repository of the folder `root`, a real path; none if it is not the root of one. */
export const repositoryMounts = (root: string, isWritable: boolean): ReadonlyArray<Mount> => {
  const at = join(root, ".git")
  const stat = statOf(at)
  if (stat?.isDirectory() === true) return isWritable ? writable(at) : []
  if (stat?.isFile() !== true) return []
  const link: Mount = { kind: "read", path: at }
  const part = partOfWorktree(root)
  if (part === undefined) return [link]
  const common = dirname(dirname(part))
  return [link, ...(isWritable ? writable(common, part) : [{ kind: "read", path: common } as const])]
}
