/**
 * File system that a confined run sees: a list of mounts from what is known about the run and the machine, with the caches in a user's home that a
 * run has its own folder for. Pure.
 *
 * Guarantees: nothing of the machine is visible unless a mount lists it. The run writes its temporary folder, its copy of its runtime's state,
 * and in modes with changes the workspace. Files of the Edge are hidden, also inside a folder that a mount lists.
 *
 * A workspace has lasting caches, which no other workspace, no unconfined program and no run in a worktree sees. A later run executes what is in them,
 * so a run that may not change the workspace does not write them either.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { dirname } from "node:path"
import { isWithin } from "../workspace/PathText.ts"
import type { Mount } from "./Mount.ts"
import { NETWORK_FOLDER } from "./NetworkBridge.ts"

interface CacheFolder {
  /** Relative to the home. */
  readonly name: string
  /** `cache`: programs fail if they cannot write it. `store`: programs read it and add to it. The home's own store is read, if it exists. */
  readonly kind: "cache" | "store"
}

const cacheFolders: ReadonlyArray<CacheFolder> = [
  { name: ".cache", kind: "cache" },
  { name: ".npm", kind: "cache" },
  { name: ".cargo/registry", kind: "store" },
  { name: ".cargo/git", kind: "store" },
  { name: "go/pkg", kind: "store" }
]

/** A cache of one run. Without a source, it is in the run's temporary folder and deleted with it. */
export interface MountedCache {
  readonly name: string
  readonly source: string | undefined
  readonly isWritable: boolean
}

/**
 * The caches of a run. `isWriter`: whether the run may change the workspace. `folder` is that of its workspace. `homeHas` says which stores the
 * home itself has.
 */
export const cachesOf = (
  isWriter: boolean,
  folder: string | undefined,
  homeHas: (name: string) => boolean
): ReadonlyArray<MountedCache> =>
  cacheFolders.flatMap(({ kind, name }): ReadonlyArray<MountedCache> => {
    const source = folder === undefined ? undefined : `${folder}/${name}`
    if (kind === "store") {
      return source === undefined || homeHas(name) ? [] : [{ name, source, isWritable: isWriter }]
    }
    return [{ name, source: isWriter ? source : undefined, isWritable: true }]
  })

/**
 * Mounts of the caches. A cache is left out if another mount is inside: an earlier run may have put a link where that mount would be made.
 * `others` are the paths of the other mounts.
 */
const cacheMounts = (
  caches: ReadonlyArray<MountedCache>,
  home: string,
  temporary: string,
  others: ReadonlyArray<string>
): ReadonlyArray<Mount> =>
  caches.flatMap(({ isWritable, name, source }): ReadonlyArray<Mount> => {
    const path = `${home}/${name}`
    if (others.some((other) => isWithin(path, other))) return []
    if (source !== undefined) return [{ kind: isWritable ? "write" : "read", path, source }]
    const target = `${temporary}/${name.slice(1)}`
    return [
      { kind: "folder", path: target },
      { kind: "link", path, target }
    ]
  })

export interface ConfinedRootFacts {
  readonly mode: RunMode
  /** Real path. */
  readonly workspace: string
  /** The run's temporary folder. */
  readonly temporary: string
  /** The user's home directory, as programs name it. */
  readonly home: string
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
  /** Further paths that the runtime reads. */
  readonly readable: ReadonlyArray<string>
  /** Toolchains and programs. */
  readonly tools?: ReadonlyArray<Mount> | undefined
  /** Mounts of the run's private copy of its runtime's state. */
  readonly state: ReadonlyArray<Mount>
  /** Folders in the workspace that no run writes. They exist. */
  readonly protected: ReadonlyArray<string>
  /** Existing files and folders in the workspace that no run writes, because the repository's settings name them. */
  readonly executed?: ReadonlyArray<string> | undefined
  /** Copies that the run sees and writes instead of read-only folders of the workspace, by their paths. */
  readonly copies?: ReadonlyMap<string, string> | undefined
  /** Mounts of the repository. */
  readonly repository: ReadonlyArray<Mount>
  readonly caches: ReadonlyArray<MountedCache>
  /** Folder with files of the conversation. */
  readonly attachments?: string | undefined
  /** Folder with the sockets of the run's network. */
  readonly network: string
  /** The Edge's home and its other files. */
  readonly edgeFolder: string
  readonly edgeFiles: ReadonlyArray<string>
}

/** Whether runs of the mode may change the workspace. */
export const canWrite = (mode: RunMode): boolean => mode !== "read_only" && mode !== "plan"

/** Paths that may be shown: none shows the home or the Edge's files, and the workspace decides about its own folders. */
const isSafe =
  ({ edgeFolder, home, workspace }: ConfinedRootFacts) =>
  (path: string): boolean =>
    !isWithin(path, home) &&
    !isWithin(path, edgeFolder) &&
    !isWithin(workspace, path) &&
    !isWithin(path, workspace)

/** What the runtime reads. In a folder of the runtime, only programs are mounted: links are there, and nothing is covered. */
const readMounts = (facts: ConfinedRootFacts): ReadonlyArray<Mount> => {
  const readable = facts.readable.filter(isSafe(facts))
  const folders = [...readable, ...facts.state.map(({ path }) => path)]
  const tools = (facts.tools ?? []).filter(
    ({ kind, path }) =>
      isSafe(facts)(path) && (kind === "read" || !folders.some((folder) => isWithin(folder, path)))
  )
  return [...tools, ...readable.map((path) => ({ kind: "read", path }) as const)]
}

/** A folder around a file is mounted onto itself, because it could be renamed otherwise, and another made. */
const executedMounts = (workspace: string, executed: ReadonlyArray<string>): ReadonlyArray<Mount> => [
  ...executed
    .flatMap((path) => foldersBetween(workspace, path))
    .map((path) => ({ kind: "write", path }) as const),
  ...executed.map((path) => ({ kind: "read", path }) as const)
]

const foldersBetween = (folder: string, path: string): ReadonlyArray<string> => {
  const around = dirname(path)
  return around === folder || around === dirname(around) ? [] : [around, ...foldersBetween(folder, around)]
}

const workspaceMounts = (facts: ConfinedRootFacts): ReadonlyArray<Mount> => {
  const { copies, executed = [], mode, protected: folders, repository, workspace } = facts
  const isWritable = canWrite(mode)
  const mounts: ReadonlyArray<Mount> = [
    { kind: isWritable ? "write" : "read", path: workspace },
    ...repository,
    ...(isWritable ? executedMounts(workspace, executed) : []),
    ...(isWritable ? folders.map((path) => ({ kind: "read" as const, path })) : [])
  ]
  return mounts.map((mount) => {
    const source = copies?.get(mount.path)
    return source === undefined ? mount : { kind: "write", path: mount.path, source }
  })
}

/** Mounts of a run. */
export const mountsOf = (facts: ConfinedRootFacts): ReadonlyArray<Mount> => {
  const { attachments, caches, edgeFiles, edgeFolder, home, network, state, system, temporary } = facts
  const shown = [
    ...system,
    ...readMounts(facts),
    ...state,
    ...workspaceMounts(facts)
  ] satisfies ReadonlyArray<Mount>
  const isShown = (path: string) =>
    shown.some((mount) => (mount.kind === "read" || mount.kind === "write") && isWithin(mount.path, path))
  const others = [...shown.map(({ path }) => path), temporary]
  const hidden: ReadonlyArray<Mount> = [
    ...(isShown(edgeFolder) ? [{ kind: "hidden", path: edgeFolder } as const] : []),
    ...edgeFiles
      .filter((path) => !isWithin(edgeFolder, path) && isShown(path))
      .map((path) => ({ kind: "hidden_file", path }) as const)
  ]
  return [
    { kind: "write", path: "/tmp", source: temporary },
    { kind: "link", path: "/var/tmp", target: "/tmp" },
    { kind: "folder", path: "/run" },
    { kind: "read", path: NETWORK_FOLDER, source: network },
    { kind: "folder", path: home },
    // Not if the workspace shows the home, and with it the home's own caches.
    ...(isShown(home) ? [] : cacheMounts(caches, home, temporary, others)),
    ...shown,
    ...hidden,
    ...(attachments === undefined ? [] : [{ kind: "read", path: attachments } as const]),
    { kind: "write", path: temporary }
  ]
}
