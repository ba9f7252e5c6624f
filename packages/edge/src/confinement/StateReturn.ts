/**
 * Conversations that a run has left in its private state, taken back into the user's.
 *
 * Guarantees: only regular files of one name and of bounded size, which match the patterns of the adapter and belong to the run's workspace, come
 * back. A file of the user is replaced only if it is what the run received, or the beginning of what comes back. Taking back twice changes
 * nothing. No link is followed.
 *
 * Does not: run while a process of the run is alive.
 */
import type { ConversationFiles, StateFolder } from "@corral/domain/run/RuntimeFolders"
import { makeFolder } from "@corral/service/MakeFolder"
import { constants, lstatSync } from "node:fs"
import { copyFile, lstat, open, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { entriesMatching, type StateEntry, StatePattern } from "./StateFiles.ts"
import { namesWorkspace, workspaceProof } from "./WorkspaceState.ts"

/** Bounds of what comes back of one run. */
const MAX_FILES = 2_000
const MAX_FILE_BYTES = 134_217_728
const MAX_BYTES = 536_870_912
const PIECE = 262_144

/** Which file something was when the run started. */
export interface FileVersion {
  readonly ino: number
  readonly size: number
  readonly mtimeMs: number
}

/** A file of a conversation that the run received. */
export interface ReceivedStateFile {
  readonly path: string
  readonly original: FileVersion
  readonly copy: FileVersion
}

export const versionOf = ({ ino, mtimeMs, size }: FileVersion): FileVersion => ({ ino, mtimeMs, size })

const isSame = (a: FileVersion, b: FileVersion): boolean =>
  a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs

/** State of one folder, in a run and of the user. */
export interface ReturnedFolder {
  readonly folder: StateFolder
  /** The user's. It may not exist. */
  readonly root: string
  /** The run's. */
  readonly layer: string
  readonly received: ReadonlyArray<ReceivedStateFile>
}

export type PathReason = readonly [path: string, reason: string]

export interface StateReturn {
  /** Paths that came back, or are there already. */
  readonly returned: ReadonlyArray<string>
  /** Paths that may not come back, with the reason. */
  readonly refused: ReadonlyArray<PathReason>
  /** Paths that could not be taken back. They are still needed. */
  readonly unreturned: ReadonlyArray<PathReason>
}

/** Files of conversations of this workspace, and the reasons against the others. */
const conversationsIn = async (
  { layer, root }: ReturnedFolder,
  conversations: ConversationFiles,
  workspace: string
): Promise<{ readonly files: ReadonlyArray<StateEntry>; readonly refused: StateReturn["refused"] }> => {
  const facts = { workspace, sessions: conversations.sessions }
  const patterns = conversations.files.map((pattern) => new StatePattern(pattern, facts))
  const found = (await entriesMatching(layer, patterns)).filter(({ stat }) => !stat.isDirectory())
  const naming = conversations.workspace
  const isFreeOrSame = async ({ path }: StateEntry) => {
    const theirs = join(root, path)
    if ((await lstat(theirs).catch(() => undefined)) === undefined) return true
    return naming !== undefined && namesWorkspace(theirs, naming, workspace)
  }
  const isProven = await workspaceProof(layer, conversations, facts, isFreeOrSame)
  return {
    files: found.filter(isProven),
    refused: found.flatMap((entry) =>
      isProven(entry) ? [] : [[entry.path, "it is not of this workspace"] as const]
    )
  }
}

/** Whether the shorter file is the beginning of the other one. Both are regular. */
const beginsWith = async (longer: string, shorter: string, length: number): Promise<boolean> => {
  const [a, b] = [Buffer.alloc(PIECE), Buffer.alloc(PIECE)]
  const [first, second] = [await open(longer, "r"), await open(shorter, "r")]
  try {
    for (let at = 0; at < length; at += PIECE) {
      const size = Math.min(PIECE, length - at)
      const reads = await Promise.all([first.read(a, 0, size, at), second.read(b, 0, size, at)])
      if (reads.some(({ bytesRead }) => bytesRead !== size)) return false
      if (!a.subarray(0, size).equals(b.subarray(0, size))) return false
    }
    return true
  } finally {
    await first.close()
    await second.close()
  }
}

/** Whether a file can replace the user's. A conflict is lasting if the user may still need the file. */
type Fit =
  | { readonly _tag: "Free" | "There" }
  | { readonly _tag: "Conflict"; readonly reason: string; readonly isLasting: boolean }

const fitOf = async (
  ours: string,
  { stat }: StateEntry,
  theirs: string,
  received: ReceivedStateFile | undefined
): Promise<Fit> => {
  const current = await lstat(theirs).catch(() => undefined)
  if (current === undefined) return { _tag: "Free" }
  const isLasting = received !== undefined
  if (!current.isFile()) return { _tag: "Conflict", reason: "the user's is not a regular file", isLasting }
  if (received !== undefined && isSame(current, received.original)) return { _tag: "Free" }
  const isLonger = stat.size > current.size
  const [longer, shorter] = isLonger ? [ours, theirs] : [theirs, ours]
  const isContinued = await beginsWith(longer, shorter, Math.min(stat.size, current.size))
  // A run continues only what it received.
  if (isContinued && (isLasting || stat.size === current.size)) return { _tag: isLonger ? "Free" : "There" }
  const reason = isLasting ? "it was continued somewhere else meanwhile" : "another file has its name"
  return { _tag: "Conflict", reason, isLasting }
}

/** Whether the folders on the way are no links. */
const isPlainWay = (root: string, path: string): boolean => {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    const stat = lstatSync(join(root, folder), { throwIfNoEntry: false })
    if (stat !== undefined && !stat.isDirectory()) return false
  }
  return true
}

let copies = 0

/** The file appears whole or not at all. */
const replaceFile = async (from: string, to: string): Promise<void> => {
  makeFolder(dirname(to))
  const temporary = `${to}.corral-${process.pid}-${copies++}`
  try {
    await copyFile(from, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    const file = await open(temporary, "r+")
    try {
      await file.chmod(0o600)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, to)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw cause
  }
}

const refusalOf = ({ stat }: StateEntry): string | undefined => {
  if (!stat.isFile()) return "it is not a regular file"
  if (stat.nlink !== 1) return "it has several names"
  return stat.size > MAX_FILE_BYTES ? "it is too large" : undefined
}

const takeFile = async (
  { layer, root }: ReturnedFolder,
  entry: StateEntry,
  received: ReceivedStateFile | undefined
): Promise<Fit> => {
  const { path } = entry
  const [ours, theirs] = [join(layer, path), join(root, path)]
  try {
    if (!isPlainWay(root, path))
      return { _tag: "Conflict", reason: "a folder of the user on its way is a link", isLasting: true }
    const fit = await fitOf(ours, entry, theirs, received)
    if (fit._tag === "Free") await replaceFile(ours, theirs)
    return fit
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { _tag: "Conflict", reason, isLasting: true }
  }
}

/** Takes back what a run left in one folder. */
export const returnConversations = async (from: ReturnedFolder, workspace: string): Promise<StateReturn> => {
  const returned: Array<string> = []
  const refused: Array<PathReason> = []
  const unreturned: Array<PathReason> = []
  const received = new Map(from.received.map((file) => [file.path, file]))
  let bytes = 0
  for (const conversations of from.folder.conversations ?? []) {
    const found = await conversationsIn(from, conversations, workspace)
    refused.push(...found.refused)
    for (const entry of found.files) {
      const { path, stat } = entry
      const before = received.get(path)
      if (before !== undefined && isSame(before.copy, stat)) continue
      bytes += stat.size
      const isBeyond = returned.length >= MAX_FILES || bytes > MAX_BYTES
      const refusal = refusalOf(entry) ?? (isBeyond ? "the run left too much" : undefined)
      if (refusal !== undefined) {
        refused.push([path, refusal])
        continue
      }
      const fit = await takeFile(from, entry, before)
      if (fit._tag !== "Conflict") returned.push(path)
      else (fit.isLasting ? unreturned : refused).push([path, fit.reason])
    }
  }
  return { returned, refused, unreturned }
}
