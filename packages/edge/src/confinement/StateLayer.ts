/**
 * Private copy of a runtime's state for one run: what the patterns of its adapter name, and nothing else of the user's state.
 *
 * Settings are not copied: they are mounted read-only at their own path. A link leads to those at another path, or of a means that does not mount.
 *
 * Guarantees: copies are of bounded size. Nothing of another workspace's conversations, and of other conversations of this one, is in it.
 */
import type { RuntimeFolders, StateFolder } from "@corral/domain/run/RuntimeFolders"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { constants, existsSync, realpathSync, statSync } from "node:fs"
import { copyFile, lstat, readFile, symlink, writeFile } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"
import { isWithin } from "../workspace/PathText.ts"
import type { Mount } from "./Mount.ts"
import { entriesMatching, isSessionId, StatePattern } from "./StateFiles.ts"
import { type ReceivedStateFile, versionOf } from "./StateReturn.ts"
import { inSteps } from "./InSteps.ts"
import { forWorkspace, workspaceProof } from "./WorkspaceState.ts"

const MAX_COPY_BYTES = 8_388_608
/** Of a file that has an entry for each workspace. */
const MAX_DIVIDED_BYTES = 67_108_864
const MAX_SETTINGS = 500
const MAX_RECEIVED = 2_000
/** As large as a file that comes back. */
const MAX_RECEIVED_BYTES = 134_217_728
export const MAX_CREDENTIAL_BYTES = 65_536
const PRIVATE = 0o600

/** What a layer is for. */
export interface LayerRequest {
  readonly folders: RuntimeFolders
  readonly env: Readonly<Record<string, string>>
  /** The user's home. */
  readonly home: string
  /** The Edge's home. */
  readonly edgeFolder: string
  /** Real path of the run's folder. */
  readonly workspace: string
  /** Conversation of the runtime that the run continues. */
  readonly session: string | undefined
  /** Folder of the layer, which does not exist. */
  readonly layer: string
  /** Folder of the workspace's databases of the runtime whose state is in a folder of the user. */
  readonly databaseOf: (root: string) => string
  /** Whether the means can show a file at another path. Otherwise a variable names the layer. */
  readonly canMount: boolean
}

/** State of one folder in the layer. */
export interface LayerFolder {
  readonly folder: StateFolder
  readonly root: string
  readonly layer: string
  readonly received: ReadonlyArray<ReceivedStateFile>
}

export interface StateLayer {
  readonly folders: ReadonlyArray<LayerFolder>
  readonly mounts: ReadonlyArray<Mount>
  readonly env: Readonly<Record<string, string>>
}

/** Where the variables of a run put the user's folder. */
const statePath = (
  { path, variable, variableNames }: StateFolder,
  env: Readonly<Record<string, string>>,
  home: string
): string => {
  const named = variable === undefined ? undefined : env[variable]
  if (named === undefined || !isAbsolute(named)) return join(home, path)
  if (variableNames !== "parent") return resolve(named)
  // Of a variable for a home, the whole path is inside.
  return resolve(named, basename(path))
}

/** A regular file of up to `max` bytes. The user's links are followed. */
const readBounded = async (path: string, max: number): Promise<Buffer | undefined> => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.size <= max ? readFile(path) : undefined
}

const writeCopy = async (path: string, content: Buffer): Promise<void> => {
  makeFolder(dirname(path))
  await writeFile(path, content, { mode: PRIVATE, flag: "wx" })
}

const copyState = async (
  from: string,
  to: string,
  perWorkspace: ReadonlyArray<string>,
  workspace: string
): Promise<void> => {
  const isPart = perWorkspace.length > 0
  const content = await readBounded(from, isPart ? MAX_DIVIDED_BYTES : MAX_COPY_BYTES)
  if (content === undefined) return
  try {
    const copy = isPart
      ? await Effect.runPromise(inSteps(forWorkspace(content, perWorkspace, workspace)))
      : content
    if (copy.length <= MAX_COPY_BYTES) await writeCopy(to, copy)
  } catch (cause) {
    // A file that is not what the runtime writes is left out.
    if (!(cause instanceof SyntaxError)) throw cause
  }
}

/** Copies the files of the conversation that the run continues. */
const receive = async (
  { conversations = [] }: StateFolder,
  root: string,
  layer: string,
  { session, workspace }: LayerRequest
): Promise<ReadonlyArray<ReceivedStateFile>> => {
  if (session === undefined) return []
  const received: Array<ReceivedStateFile> = []
  for (const each of conversations) {
    const { files, sessions } = each
    if (!isSessionId(session, sessions)) continue
    const facts = { workspace, session, sessions }
    const patterns = files.map((pattern) => new StatePattern(pattern, facts))
    // The id comes from a run, which may name a conversation of another workspace.
    const isProven = await workspaceProof(root, each, facts, () => Promise.resolve(true))
    for (const entry of await entriesMatching(root, patterns)) {
      const { path, stat } = entry
      if (
        !isProven(entry) ||
        !stat.isFile() ||
        stat.size > MAX_RECEIVED_BYTES ||
        received.length >= MAX_RECEIVED
      )
        continue
      const copy = join(layer, path)
      makeFolder(dirname(copy))
      await copyFile(join(root, path), copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
      received.push({ path, original: versionOf(stat), copy: versionOf(await lstat(copy)) })
    }
  }
  return received
}

const realPath = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Settings by their paths in the folder, with what they are. A link counts as what it leads to. */
const settingsIn = async (
  { settings = [] }: StateFolder,
  root: string,
  { edgeFolder, home, workspace }: LayerRequest
): Promise<ReadonlyArray<readonly [path: string, real: string]>> => {
  const patterns = settings.map((pattern) => new StatePattern(pattern, { workspace }))
  const found = await entriesMatching(root, patterns)
  return found.slice(0, MAX_SETTINGS).flatMap(({ path, stat }) => {
    const real = stat.isSymbolicLink() ? realPath(join(root, path)) : join(root, path)
    const target = real === undefined || !stat.isSymbolicLink() ? stat : statSync(real)
    if (real === undefined || !(target.isFile() || target.isDirectory())) return []
    const isTooMuch = [home, edgeFolder].some((folder) => isWithin(real, folder))
    return isTooMuch || isWithin(edgeFolder, real) ? [] : [[path, real] as const]
  })
}

/** The database of the workspace, at its path in the run. */
const databaseIn = (
  { database }: StateFolder,
  root: string,
  shownAt: string,
  { canMount, databaseOf }: LayerRequest
): Pick<StateLayer, "env" | "mounts"> => {
  if (database === undefined) return { env: {}, mounts: [] }
  const source = databaseOf(root)
  makeFolder(source)
  const path = canMount ? join(shownAt, database.folder) : source
  const { file, variable } = database
  return {
    env: { [variable]: file === undefined ? path : join(path, file) },
    mounts: [{ kind: "write", path, ...(canMount ? { source } : {}) }]
  }
}

const withoutMounts = ({ path, variable, variableNames }: StateFolder, layer: string): StateLayer["env"] => {
  if (variable === undefined)
    throw new Error(
      `this means cannot give it a private copy of ~/${path}, because no variable names that folder`
    )
  return { [variable]: variableNames === "parent" ? dirname(layer) : layer }
}

const openFolder = async (
  folder: StateFolder,
  root: string,
  layer: string,
  request: LayerRequest
): Promise<{ readonly opened: LayerFolder; readonly part: Pick<StateLayer, "env" | "mounts"> }> => {
  const { canMount, workspace } = request
  makeFolder(layer)
  const real = realPath(root) ?? root
  const shownAt = canMount ? root : layer
  for (const { path, perWorkspace = [] } of folder.copied ?? [])
    await copyState(join(real, path), join(layer, path), perWorkspace, workspace)
  for (const { path } of folder.credentials ?? []) {
    const content = await readBounded(join(real, path), MAX_CREDENTIAL_BYTES)
    if (content !== undefined) await writeCopy(join(layer, path), content)
    // Watched from the start on.
    else makeFolder(dirname(join(layer, path)))
  }
  const received = await receive(folder, real, layer, request)
  const shown: Array<Mount> = []
  for (const [path, target] of await settingsIn(folder, real, request)) {
    // Under its own path, so that sockets in it are found and covered.
    if (target !== join(shownAt, path)) {
      makeFolder(dirname(join(layer, path)))
      await symlink(target, join(layer, path))
    }
    // The workspace decides about its files.
    if (!isWithin(workspace, target)) shown.push({ kind: "read", path: target })
  }
  const database = databaseIn(folder, real, shownAt, request)
  return {
    opened: { folder, root: real, layer, received },
    part: {
      mounts: [
        { kind: "write", path: shownAt, ...(canMount ? { source: layer } : {}) },
        ...shown,
        ...database.mounts
      ],
      env: { ...(canMount ? {} : withoutMounts(folder, layer)), ...database.env }
    }
  }
}

/** A copy of a single file. Without mounts it is in the folder before it, where a variable of the runtime makes it look. */
const openFile = async (
  { perWorkspace = [] }: StateFolder,
  root: string,
  copy: string,
  { canMount, workspace }: LayerRequest
): Promise<ReadonlyArray<Mount>> => {
  if (existsSync(copy)) return []
  makeFolder(dirname(copy))
  await copyState(root, copy, perWorkspace, workspace)
  return canMount && existsSync(copy) ? [{ kind: "write", path: root, source: copy }] : []
}

/** Makes the layer. A folder that contains the home or the Edge's files is left out. Throws the error of the operating system. */
export const makeLayer = async (request: LayerRequest): Promise<StateLayer> => {
  const { canMount, edgeFolder, env, home, layer } = request
  const folders: Array<LayerFolder> = []
  const mounts: Array<Mount> = []
  let variables: Readonly<Record<string, string>> = {}
  makeFolder(layer)
  for (const [index, folder] of request.folders.state.entries()) {
    const root = statePath(folder, env, home)
    if (isWithin(root, home) || isWithin(root, edgeFolder)) continue
    if (folder.kind === "file") {
      const around = canMount ? join(layer, String(index)) : (folders.at(-1)?.layer ?? layer)
      mounts.push(...(await openFile(folder, root, join(around, basename(root)), request)))
      continue
    }
    const inLayer = join(layer, String(index), basename(folder.path))
    const { opened, part } = await openFolder(folder, root, inLayer, request)
    folders.push(opened)
    mounts.push(...part.mounts)
    variables = { ...variables, ...part.env }
  }
  return { folders, mounts, env: variables }
}
