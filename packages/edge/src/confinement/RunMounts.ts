/** Mounts of one run on this machine. Reads the folders of the workspace and of the runtime, and creates missing ones of its state. */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { existsSync } from "node:fs"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { MountedCache } from "./CacheFolders.ts"
import { canWrite, mountsOf } from "./ConfinedRoot.ts"
import type { Mount } from "./Mount.ts"
import { foldersOfTools } from "./ProgramFolders.ts"
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
}

/** The mounts. `network`: folder with the sockets of the run; `caches`: those of its workspace. Throws if the command has no home or no temporary folder. */
export const mountsOfRun = (
  system: ReadonlyArray<Mount>,
  { configFile, deviceFile, home: edgeFolder, tokenFile }: EdgeConfig,
  { attachments, folders, mode, workspace }: ConfinedFiles,
  { env, file, temporary }: SubprocessSpec,
  { caches, network }: { readonly network: string; readonly caches: ReadonlyArray<MountedCache> }
): ReadonlyArray<Mount> => {
  const { HOME: home } = env
  if (home === undefined || temporary === undefined)
    throw new Error("it has no home directory or no temporary folder")
  return mountsOf({
    mode,
    workspace,
    temporary,
    home,
    system,
    readable: [...foldersOfTools(file, env, home), ...(folders?.reads ?? [])],
    state: resolveState(folders, env, home, edgeFolder),
    protected: protectedFolders(workspace),
    repository: repositoryMounts(workspace, canWrite(mode)),
    caches,
    attachments,
    network,
    edgeFolder,
    edgeFiles: [tokenFile, configFile, deviceFile].flatMap((path) =>
      path !== undefined && existsSync(path) ? [path] : []
    )
  })
}
