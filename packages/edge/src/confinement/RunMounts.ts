/**
 * Mounts of one run on this machine. Reads the folders of the workspace. Also the folders of a workspace from which programs of this machine execute
 * something.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import type { Effect, Scope } from "effect"
import { existsSync, lstatSync } from "node:fs"
import { join, relative } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { LayerFiles } from "../layer/LayerFiles.ts"
import type { IsolatedFolders } from "../workspace/GitIsolation.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import type { MountedCache } from "./CacheFolders.ts"
import { canWrite, mountsOf } from "./ConfinedRoot.ts"
import { existingConfiguredFiles } from "./ConfiguredFiles.ts"
import type { Mount } from "./Mount.ts"
import { toolMounts } from "./ProgramFolders.ts"
import type { ProtectedCopies } from "./ProtectedCopies.ts"
import { layerRepositoryMounts, repositoryMounts, runRepositoryMounts } from "./RepositoryMounts.ts"
import { installedFolders } from "../approval/FileNames.ts"
import { folderEntries } from "../workspace/FolderEntries.ts"

// Folders of a workspace from which programs of this machine execute something by themselves: editors, hooks and agents. Runs read them.
//
// Guarantees: the search is bounded by its names and its depth. Folders near the top come first.
// Does not: protect a folder that does not exist when the run starts. A mount needs a folder.

const NAMES = [
  ".agents",
  ".claude",
  ".codex",
  ".copilot",
  ".cursor",
  ".devcontainer",
  ".gemini",
  ".githooks",
  ".husky",
  ".idea",
  ".kimi",
  ".kimi-code",
  ".opencode",
  ".pi",
  ".qwen",
  ".vscode",
  ".zed"
]
const protectedNames = new Set(NAMES)

const MAX_NAMES = 5_000
const MAX_DEPTH = 5
/** Mounts of one run. */
const MAX_FOLDERS = 100

/** Those below the top, such as in the packages of a project. */
const nestedFolders = (root: string, maxNames: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const pending: Array<readonly [folder: string, depth: number]> = [[root, 0]]
  let names = 0
  for (const [folder, depth] of pending) {
    for (const entry of folderEntries(folder)) {
      if (++names > maxNames || found.length >= MAX_FOLDERS) return found
      if (!entry.isDirectory()) continue
      const path = join(folder, entry.name)
      if (protectedNames.has(entry.name)) {
        if (depth > 0) found.push(path)
      } else if (depth < MAX_DEPTH && !entry.name.startsWith(".") && !installedFolders.has(entry.name))
        pending.push([path, depth + 1])
    }
  }
  return found
}

/** Those that exist. A link is not followed. */
export const protectedFolders = (root: string, maxNames = MAX_NAMES): ReadonlyArray<string> => [
  ...NAMES.map((name) => join(root, name)).filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  ),
  ...nestedFolders(root, maxNames)
]

/** Files of a run. */
export interface ConfinedFiles {
  readonly mode: RunMode
  /** Real path of its folder, which exists. */
  readonly workspace: string
  readonly attachments: string | undefined
  readonly folders: RuntimeFolders | undefined
  /** The repository of a run in a worktree. */
  readonly repository?: (() => IsolatedFolders | undefined) | undefined
  /** Layer of the run, readable until the scope closes. Fails with a phrase. */
  readonly layer?: Effect.Effect<LayerFiles, string, Scope.Scope> | undefined
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
  /** Its copy of its runtime's state. */
  readonly state: ReadonlyArray<Mount>
}

/** The mounts. Throws if the command has no home or no temporary folder. */
export const mountsOfRun = (
  system: ReadonlyArray<Mount>,
  { configFile, deviceFile, home: edgeFolder, tokenFile }: EdgeConfig,
  { attachments, copies, folders, mode, repository: repositoryOf, workspace }: ConfinedFiles,
  { args, bridged, env, file, temporary }: SubprocessSpec,
  runFolders: RunFolders,
  layer?: LayerFiles
): ReadonlyArray<Mount> => {
  const { HOME: home } = env
  if (home === undefined || temporary === undefined)
    throw new Error("it has no home directory or no temporary folder")
  // What is there in the layer, by its paths in the workspace.
  const look = layer?.look ?? workspace
  const shown = (path: string) => join(workspace, relative(look, path))
  const protectedOnes = protectedFolders(look).map(shown)
  const separate = repositoryOf?.()
  const repository =
    layer !== undefined
      ? layerRepositoryMounts(workspace, layer.repository, canWrite(mode))
      : separate === undefined
        ? repositoryMounts(workspace, canWrite(mode))
        : runRepositoryMounts(workspace, separate, canWrite(mode))
  const isThere = (path: string) => layer === undefined || existsSync(join(look, relative(workspace, path)))
  const configured = canWrite(mode) ? existingConfiguredFiles(workspace, home).filter(isThere) : []
  const hooks = join(workspace, ".git", "hooks")
  const hasHooks = repository.some(({ kind, path }) => kind === "read" && path === hooks)
  const started = [{ file, args }, ...(bridged === undefined ? [] : [{ file: bridged }])]
  return mountsOf({
    mode,
    workspace,
    temporary,
    home,
    system,
    readable: folders?.reads ?? [],
    tools: toolMounts({ started, env, home, system }),
    state: runFolders.state,
    protected: protectedOnes,
    executed: configured.filter((path) => !protectedOnes.some((folder) => isWithin(folder, path))),
    repository,
    copies: copies?.make(runFolders.copies, [...protectedOnes, ...(hasHooks ? [hooks] : []), ...configured]),
    caches: runFolders.caches,
    attachments,
    network: runFolders.network,
    edgeFolder,
    edgeFiles: [tokenFile, configFile, deviceFile].flatMap((path) =>
      path !== undefined && existsSync(path) ? [path] : []
    )
  })
}
