/**
 * Mounts of one run on this machine, in the workspace itself or in a layer. Reads the folders of the workspace. Also the folders of a workspace
 * from which programs of this machine execute something, and the search for other paths of this machine at which the workspace's folder is mounted.
 *
 * Guarantees: of a run in a layer, what is below the workspace's path comes from the layer. It does not start if its mounts would show the folder
 * at another path.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import type { Effect, Scope } from "effect"
import { existsSync, lstatSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { installedFolders } from "../approval/FileNames.ts"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { filesInNamespace, type LayerFiles } from "../layer/LayerMounts.ts"
import { unescapedPath } from "../process/ControlGroup.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { IsolatedFolders } from "../workspace/Git.ts"
import { isWithin } from "../workspace/PathText.ts"
import { folderEntries } from "../workspace/UntrustedFiles.ts"
import { existingConfiguredFiles } from "./ConfiguredFiles.ts"
import { type MountedCache, canWrite, mountsOf } from "./ConfinedRoot.ts"
import type { Mount } from "./Mount.ts"
import { toolMounts } from "./ProgramFolders.ts"
import type { ProtectedCopies } from "./ProtectedCopies.ts"
import { layerRepositoryMounts, repositoryMounts, runRepositoryMounts } from "./RepositoryMounts.ts"

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

/**
 * Programs in a workspace that the Edge runs without confinement, such as the git of its `PATH`: a run could replace one for the Edge. A link counts
 * as its folder, in which it could be replaced. Throws if that is the workspace itself.
 */
const edgePrograms = (workspace: string, path: string | undefined): ReadonlyArray<string> =>
  filesInNamespace(path).flatMap((file) => {
    if (file === workspace || !isWithin(workspace, file)) return []
    const stat = lstatSync(file, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink() !== true) return stat === undefined ? [] : [file]
    if (dirname(file) === workspace)
      throw new Error(`${file} is a link to a program that the Edge runs, in the workspace's own folder`)
    return [dirname(file)]
  })

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
  /** What it writes is thrown away: of the repository, which is not, it reads only. */
  readonly isThrownAway?: true | undefined
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
  { configFile, deviceFile, environment, home: edgeFolder, pricesFile, tokenFile }: EdgeConfig,
  { attachments, copies, folders, isThrownAway, mode, repository: repositoryOf, workspace }: ConfinedFiles,
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
  const isWriter = canWrite(mode) && isThrownAway !== true
  const repository =
    separate !== undefined
      ? runRepositoryMounts(workspace, separate, isWriter)
      : layer !== undefined
        ? layerRepositoryMounts(workspace, layer.repository, isWriter)
        : repositoryMounts(workspace, isWriter)
  const isThere = (path: string) => layer === undefined || existsSync(join(look, relative(workspace, path)))
  const configured = canWrite(mode) ? existingConfiguredFiles(workspace, home).filter(isThere) : []
  // Of a run in a layer, they do not lie in the workspace.
  const ofEdge = canWrite(mode) && layer === undefined ? edgePrograms(workspace, environment["PATH"]) : []
  const hooks = join(workspace, ".git", "hooks")
  const hasHooks = repository.some(({ kind, path }) => kind === "read" && path === hooks)
  // The repository of a run in a layer is no part of its changes.
  const copiedHooks = hasHooks && layer === undefined ? [hooks] : []
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
    executed: [...new Set([...configured, ...ofEdge])].filter(
      (path) => !protectedOnes.some((folder) => isWithin(folder, path))
    ),
    repository,
    copies: copies?.make(runFolders.copies, [...protectedOnes, ...copiedHooks, ...configured], layer?.look),
    caches: runFolders.caches,
    attachments,
    network: runFolders.network,
    edgeFolder,
    edgeFiles: [tokenFile, configFile, deviceFile, pricesFile].flatMap((path) =>
      path !== undefined && existsSync(path) ? [path] : []
    )
  })
}

/** The mounts, with `source` at the path of the workspace `root`. */
export const layeredMounts = (
  mounts: ReadonlyArray<Mount>,
  root: string,
  source: string
): ReadonlyArray<Mount> =>
  mounts.map((mount) =>
    (mount.kind === "read" || mount.kind === "write") &&
    mount.source === undefined &&
    isWithin(root, mount.path)
      ? { ...mount, source: join(source, relative(root, mount.path)) }
      : mount
  )

interface MountPoint {
  readonly device: string
  /** Path in the file system that is mounted. */
  readonly root: string
  readonly path: string
}

/** Mount points in a `mountinfo`, in the order in which they were made. */
const mountPoints = (mountinfo: string): ReadonlyArray<MountPoint> =>
  mountinfo.split("\n").flatMap((line) => {
    const [, , device, root, path] = line.split(" ")
    return device === undefined || root === undefined || path === undefined
      ? []
      : [{ device, root: unescapedPath(root), path: unescapedPath(path) }]
  })

/** Other paths that show the folder, a part of it, or a folder around it. */
export const otherPathsOf = (root: string, mountinfo: string): ReadonlyArray<string> => {
  const points = mountPoints(mountinfo)
  const around = points
    .filter(({ path }) => isWithin(path, root))
    .reduce<MountPoint | undefined>(
      (best, each) => (best !== undefined && best.path.length > each.path.length ? best : each),
      undefined
    )
  if (around === undefined) return []
  const inSystem = join(around.root, relative(around.path, root))
  return points.flatMap((point) => {
    if (point === around || point.device !== around.device) return []
    const path = isWithin(point.root, inSystem)
      ? join(point.path, relative(point.root, inSystem))
      : isWithin(inSystem, point.root)
        ? point.path
        : undefined
    // Below the workspace's around path, the layer is seen.
    return path === undefined || isWithin(root, path) ? [] : [path]
  })
}

/** A path at which the mounts would show the workspace's folder; `undefined` if there is none. */
export const exposedPath = (
  mounts: ReadonlyArray<Mount>,
  root: string,
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8")
): string | undefined => {
  const others = otherPathsOf(root, mountinfo)
  const sources = mounts.flatMap((mount) =>
    mount.kind === "read" || mount.kind === "write" ? [mount.source ?? mount.path] : []
  )
  return others.find((path) => sources.some((source) => isWithin(source, path) || isWithin(path, source)))
}
