/** Mounts of one run on this machine. Reads the folders of the workspace and of the runtime, and creates missing ones of its state. */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { MountedCache } from "./CacheFolders.ts"
import { canWrite, mountsOf } from "./ConfinedRoot.ts"
import type { Mount } from "./Mount.ts"
import { foldersOfTools } from "./ProgramFolders.ts"
import type { ProtectedCopies } from "./ProtectedCopies.ts"
import { protectedFolders } from "./ProtectedFolders.ts"
import { repositoryMounts } from "./RepositoryMounts.ts"
import { resolveState } from "./RuntimeState.ts"

/** Files of a run. */
export interface ConfinedFiles {
  readonly mode: RunMode
  /** Real path of its folder, which exists. */
  readonly workspace: string
  readonly attachments: string | undefined
  readonly folders: RuntimeFolders | undefined
  /** Copies of the protected folders, for a means that mounts them. */
  readonly copies?: ProtectedCopies | undefined
}

/** What the Edge has for one run. */
export interface RunFolders {
  /** Folder with the sockets of the run. */
  readonly network: string
  /** Folder for copies of protected folders. */
  readonly copies: string
  /** Caches of its workspace. */
  readonly caches: ReadonlyArray<MountedCache>
}

/** The mounts. Throws if the command has no home or no temporary folder. */
export const mountsOfRun = (
  system: ReadonlyArray<Mount>,
  { configFile, deviceFile, home: edgeFolder, tokenFile }: EdgeConfig,
  { attachments, copies, folders, mode, workspace }: ConfinedFiles,
  { args, bridged, env, file, temporary }: SubprocessSpec,
  runFolders: RunFolders
): ReadonlyArray<Mount> => {
  const { HOME: home } = env
  if (home === undefined || temporary === undefined)
    throw new Error("it has no home directory or no temporary folder")
  const protectedOnes = protectedFolders(workspace)
  const repository = repositoryMounts(workspace, canWrite(mode))
  const hooks = join(workspace, ".git", "hooks")
  const hasHooks = repository.some(({ kind, path }) => kind === "read" && path === hooks)
  return mountsOf({
    mode,
    workspace,
    temporary,
    home,
    system,
    readable: [
      ...foldersOfTools(file, env, home, args),
      ...(bridged === undefined ? [] : foldersOfTools(bridged, env, home)),
      ...(folders?.reads ?? [])
    ],
    state: resolveState(folders, env, home, edgeFolder),
    protected: protectedOnes,
    repository,
    copies: copies?.make(runFolders.copies, [...protectedOnes, ...(hasHooks ? [hooks] : [])]),
    caches: runFolders.caches,
    attachments,
    network: runFolders.network,
    edgeFolder,
    edgeFiles: [tokenFile, configFile, deviceFile].flatMap((path) =>
      path !== undefined && existsSync(path) ? [path] : []
    )
  })
}
