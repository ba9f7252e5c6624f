/**
 * File system that a confined run sees: a list of mounts from what is known about the run and the machine. Pure.
 *
 * Guarantees: nothing of the machine is visible unless a mount lists it. The run writes its temporary folder, the state of its runtime, and in
 * modes with changes the workspace. Files of the Edge are hidden, also inside a folder that a mount lists.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { cacheMounts, type MountedCache } from "./CacheFolders.ts"
import { isInFolder, type Mount } from "./Mount.ts"
import { NETWORK_FOLDER } from "./NetworkBridge.ts"

/** A folder or file of the runtime's state. `executed`: existing paths inside that no run writes. */
export interface MountedState {
  readonly path: string
  readonly executed: ReadonlyArray<string>
}

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
  /** Toolchains, caches and the folders of the program. */
  readonly readable: ReadonlyArray<string>
  readonly state: ReadonlyArray<MountedState>
  /** Folders in the workspace that no run writes. They exist. */
  readonly protected: ReadonlyArray<string>
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

/** Folders that may be shown: none shows the home or the Edge's files, and the workspace decides about its own folders. */
const safelyReadable = ({ edgeFolder, home, readable, workspace }: ConfinedRootFacts): ReadonlyArray<Mount> =>
  readable
    .filter(
      (path) =>
        !isInFolder(path, home) &&
        !isInFolder(path, edgeFolder) &&
        !isInFolder(workspace, path) &&
        !isInFolder(path, workspace)
    )
    .map((path) => ({ kind: "read", path }))

const stateMounts = (state: ReadonlyArray<MountedState>): ReadonlyArray<Mount> =>
  state.flatMap(({ executed, path }): ReadonlyArray<Mount> => [
    { kind: "write", path },
    ...executed.map((inside) => ({ kind: "read" as const, path: inside }))
  ])

const workspaceMounts = (facts: ConfinedRootFacts): ReadonlyArray<Mount> => {
  const { copies, mode, protected: folders, repository, workspace } = facts
  const isWritable = canWrite(mode)
  const mounts: ReadonlyArray<Mount> = [
    { kind: isWritable ? "write" : "read", path: workspace },
    ...repository,
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
    ...safelyReadable(facts),
    ...stateMounts(state),
    ...workspaceMounts(facts)
  ] satisfies ReadonlyArray<Mount>
  const isShown = (path: string) =>
    shown.some((mount) => (mount.kind === "read" || mount.kind === "write") && isInFolder(mount.path, path))
  const others = [...shown.map(({ path }) => path), temporary]
  const hidden: ReadonlyArray<Mount> = [
    ...(isShown(edgeFolder) ? [{ kind: "hidden", path: edgeFolder } as const] : []),
    ...edgeFiles
      .filter((path) => !isInFolder(edgeFolder, path) && isShown(path))
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
