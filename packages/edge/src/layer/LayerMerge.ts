/**
 * The person's edits of a workspace, merged three ways into a layer: base, workspace, and what the layer has. By bytes.
 *
 * Guarantees: a file of the layer is replaced only by the workspace's version of a file that the run did not change, or by a merge without a
 * conflict. Of a conflict the layer's version and the earlier base stay. No part of a path is followed if it is a link.
 */
import { Effect } from "effect"
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { mergeThreeWays } from "../change/ThreeWay.ts"
import { MAX_CONTENT, readContent, sizesOf, storeContent } from "../change/TreeContents.ts"
import { attemptFiles, GitFailed } from "../workspace/Git.ts"
import {
  FILE_MODE,
  type IndexEntry,
  LINK_MODE,
  PROGRAM_MODE,
  REPOSITORY_MODE,
  entryMode,
  oidOf,
  plainEntry,
  readIndex,
  writeIndex
} from "../workspace/IndexFile.ts"
import { DECISION_FOLDER, type ShadowRepository } from "../workspace/ShadowRepository.ts"

/** A file of a state: its mode, and the id of its content. */
export interface StateEntry {
  readonly mode: number
  readonly oid: string
}

/** Files of a state by their paths, one character per byte. */
export type TreeState = ReadonlyMap<string, StateEntry>

const stateEntry = (entry: IndexEntry): StateEntry => ({
  mode: entryMode(entry),
  oid: oidOf(entry).toString("hex")
})

/** The state in an index file. Throws if it cannot be read. */
export const readState = (index: string): TreeState => {
  const entries = readIndex(readFileSync(index))
  if (entries === undefined) throw new Error("a state of a workspace cannot be read")
  return new Map(
    entries
      .filter((entry) => entryMode(entry) !== REPOSITORY_MODE)
      .map((entry) => [entry.path.toString("latin1"), stateEntry(entry)])
  )
}

/** Writes a state as an index file. */
export const writeState = (index: string, state: TreeState): void =>
  writeFileSync(
    index,
    writeIndex(
      [...state].map(([path, { mode, oid }]) =>
        plainEntry(Buffer.from(path, "latin1"), mode, Buffer.from(oid, "hex"))
      )
    ),
    { mode: 0o600 }
  )

const isSame = (one: StateEntry | undefined, other: StateEntry | undefined): boolean =>
  one?.mode === other?.mode && one?.oid === other?.oid

/** Paths whose entries differ. */
export const differingPaths = (one: TreeState, other: TreeState): ReadonlyArray<string> => [
  ...[...one].flatMap(([path, entry]) => (isSame(entry, other.get(path)) ? [] : [path])),
  ...[...other.keys()].filter((path) => !one.has(path))
]

const setEntry = (state: Map<string, StateEntry>, path: string, entry: StateEntry | undefined): void => {
  if (entry === undefined) state.delete(path)
  else state.set(path, entry)
}

/** The state with the entries of another one at these paths. */
export const withEntriesOf = (state: TreeState, other: TreeState, paths: Iterable<string>): TreeState => {
  const next = new Map(state)
  for (const path of paths) setEntry(next, path, other.get(path))
  return next
}

// Files of a layer, written by the Edge when no run is live in it.

/** The path of a file, if every folder on the way is a real one. `undefined` otherwise. */
const placeOf = (top: string, path: string, isMade: boolean): Buffer | undefined => {
  const names = path.split("/")
  let at = Buffer.from(top)
  for (const name of names.slice(0, -1)) {
    at = Buffer.concat([at, Buffer.from(`/${name}`, "latin1")])
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (stat === undefined && isMade) mkdirSync(at)
    else if (stat?.isDirectory() !== true) return undefined
  }
  return Buffer.concat([at, Buffer.from(`/${names.at(-1)}`, "latin1")])
}

/** Writes a file, or removes it. Returns whether it could. */
const putFile = (
  top: string,
  path: string,
  file: { readonly mode: number; readonly content: Buffer } | undefined
): boolean => {
  const place = placeOf(top, path, file !== undefined)
  if (place === undefined) return file === undefined
  const stat = lstatSync(place, { throwIfNoEntry: false })
  if (stat?.isDirectory() === true) return false
  if (file === undefined) {
    if (stat !== undefined) unlinkSync(place)
    return true
  }
  // The version before stays until the next one is complete, also on a full disk. Captures leave out this folder.
  const beside = mkdtempSync(join(top, `${DECISION_FOLDER}merge-`))
  const version = join(beside, "version")
  try {
    if (file.mode === LINK_MODE) symlinkSync(file.content, version)
    else
      writeFileSync(version, file.content, { flag: "wx", mode: file.mode === PROGRAM_MODE ? 0o777 : 0o666 })
    renameSync(version, place)
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
  return true
}

/** Removes a folder that has only empty folders. Throws if it has something else. */
const removeEmptyFolder = (folder: Buffer): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true, encoding: "buffer" }))
    if (entry.isDirectory()) removeEmptyFolder(Buffer.concat([folder, Buffer.from("/"), entry.name]))
  rmdirSync(folder)
}

/** As `putFile`, also where empty folders are. */
const placeFile = (top: string, path: string, file: Parameters<typeof putFile>[2]): boolean => {
  const place = file === undefined ? undefined : placeOf(top, path, true)
  if (place !== undefined && lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true)
    try {
      removeEmptyFolder(place)
    } catch {
      return false
    }
  return putFile(top, path, file)
}

const replaceFile = (
  top: string,
  path: string,
  file: Parameters<typeof putFile>[2]
): Effect.Effect<void, GitFailed> =>
  Effect.filterOrFail(
    attemptFiles(() => placeFile(top, path, file)),
    (isWritten) => isWritten,
    () => new GitFailed({ message: "a file of the base has no place in the layer" })
  ).pipe(Effect.asVoid)

/** The paths that `wanted` does not have before the others: a file may become a folder, and a folder a file. */
const removalsFirst = (paths: ReadonlyArray<string>, wanted: TreeState): ReadonlyArray<string> => [
  ...paths.filter((path) => !wanted.has(path)),
  ...paths.filter((path) => wanted.has(path))
]

/** Gives the files of a layer, which has those of `now`, the versions of another state. */
export const replaceFiles = Effect.fn("LayerMerge.replaceFiles")(function* (
  { shadow, top }: Pick<EditMerge, "shadow" | "top">,
  now: TreeState,
  wanted: TreeState
): Effect.fn.Return<void, GitFailed> {
  for (const path of removalsFirst(differingPaths(now, wanted), wanted)) {
    const entry = wanted.get(path)
    const file = entry && { mode: entry.mode, content: yield* readContent(shadow, entry.oid) }
    yield* replaceFile(top, path, file)
  }
})

/** What a merge needs. */
export interface EditMerge {
  readonly shadow: ShadowRepository
  readonly base: TreeState
  /** The workspace now. */
  readonly workspace: TreeState
  /** The layer at the end of its last turn. */
  readonly result: TreeState
  /** Where the layer's files are written. */
  readonly top: string
  /** Whether the layer shows the workspace's version of a file by itself. */
  readonly shows: (path: string) => boolean
}

export interface MergedEdits {
  readonly base: TreeState
  readonly result: TreeState
  readonly conflicts: ReadonlyArray<string>
}

const isFile = (entry: StateEntry | undefined): entry is StateEntry =>
  entry !== undefined && (entry.mode === FILE_MODE || entry.mode === PROGRAM_MODE)

/** The merge of three contents; `undefined` if they conflict, or are not text. */
const mergedContent = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  [base, workspace, layer]: readonly [StateEntry, StateEntry, StateEntry]
): Effect.fn.Return<Buffer | undefined, GitFailed> {
  const read = ({ oid }: StateEntry) => readContent(shadow, oid)
  const sides = { base: yield* read(base), ours: yield* read(workspace), theirs: yield* read(layer) }
  const merged = yield* mergeThreeWays(shadow, sides)
  return merged === undefined || merged.hasConflict ? undefined : merged.content
})

type PathMerge = { readonly entry: StateEntry | undefined; readonly content: Buffer | undefined } | "conflict"

/** What the layer gets at one path where the workspace has changed. */
const mergePath = Effect.fnUntraced(function* (
  { base, result, shadow, workspace }: EditMerge,
  path: string
): Effect.fn.Return<PathMerge, GitFailed> {
  const [before, now, changed] = [base.get(path), workspace.get(path), result.get(path)]
  const sizes = yield* sizesOf(shadow, [before?.oid ?? [], now?.oid ?? [], changed?.oid ?? []].flat())
  if (Math.max(0, ...sizes.values()) > MAX_CONTENT) return "conflict"
  if (isSame(changed, before))
    return { entry: now, content: now === undefined ? undefined : yield* readContent(shadow, now.oid) }
  if (!isFile(before) || !isFile(now) || !isFile(changed)) return "conflict"
  const content = yield* mergedContent(shadow, [before, now, changed])
  if (content === undefined) return "conflict"
  const mode = changed.mode === before.mode ? now.mode : changed.mode
  return { entry: { mode, oid: yield* storeContent(shadow, content) }, content }
})

/** Merges the edits, one file after the other. */
export const mergeEdits = Effect.fn("LayerMerge.mergeEdits")(function* (
  merge: EditMerge
): Effect.fn.Return<MergedEdits, GitFailed> {
  const { base, result, shows, top, workspace } = merge
  const nextResult = new Map(result)
  const conflicts: Array<string> = []
  for (const path of removalsFirst(differingPaths(base, workspace), workspace)) {
    const now = workspace.get(path)
    if (isSame(result.get(path), now)) continue
    if (isSame(result.get(path), base.get(path)) && shows(path)) {
      setEntry(nextResult, path, now)
      continue
    }
    const merged = yield* mergePath(merge, path)
    const isWritten =
      merged !== "conflict" &&
      (yield* attemptFiles(() =>
        placeFile(
          top,
          path,
          merged.entry && merged.content && { mode: merged.entry.mode, content: merged.content }
        )
      ))
    if (merged === "conflict" || !isWritten) conflicts.push(path)
    else setEntry(nextResult, path, merged.entry)
  }
  return { base: withEntriesOf(workspace, base, conflicts), result: nextResult, conflicts }
})
