/**
 * Refs, checked out branch, index and other files of a workspace's repository, read as files; what differs between two such states, and how an event describes it. The repository may be
 * hostile.
 *
 * Guarantees: no link is followed, nothing is waited for, and the work is bounded. Packed and loose refs are the same, and an index is compared by what a commit of it would contain and not
 * by its times, which git renews when it only reads.
 */
import {
  type ChangeKind,
  MAX_LISTED_REFS,
  type RefChange,
  type RepositoryChanged,
  type RepositoryFileChange
} from "@corral/domain/run/ProtectedChange"
import { createHash, type Hash } from "node:crypto"
import { lstatSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { RefValues } from "../workspace/EdgeRefs.ts"
import { pathText } from "../workspace/PathText.ts"
import { isPlainPackedRefs, refsOfText } from "../workspace/RunRepository.ts"
import { smallFile, smallFileBytes } from "../workspace/UntrustedFiles.ts"
import { readWorkspaceRepository } from "../workspace/WorkspaceRepository.ts"
import { fileValue, type RepositoryFiles, repositoryFiles } from "./RepositoryFiles.ts"
import { partOfWorktree } from "./RepositoryMounts.ts"

/** Without `from` it was created, without `to` deleted. */
export interface ValueChange {
  readonly from?: string
  readonly to?: string
}

/** Change of something that each state has. */
export interface Move {
  readonly from: string
  readonly to: string
}

export type NamedChange = readonly [name: string, change: ValueChange]

export interface RepositoryDifference {
  readonly refs: ReadonlyArray<NamedChange>
  readonly files: ReadonlyArray<NamedChange>
  readonly head: Move | undefined
  readonly index: Move | undefined
}

const changeOf = (from: string | undefined, to: string | undefined): ValueChange => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to })
})

/**
 * Change of one ref; `undefined` if there is none. A ref of the Edge may move to what the Edge has written, and to nothing else: it has changed as
 * well if it names again what it named before.
 */
const refChange = (before: RepositoryState, now: RepositoryState, name: string): ValueChange | undefined => {
  const [last, to] = [before.refs.get(name), now.refs.get(name)]
  const values = now.edge.get(name)
  const isWritten = values !== undefined && String(values) !== String(before.edge.get(name))
  if (values?.includes(to ?? "") === true || (!isWritten && last === to)) return undefined
  const from = isWritten ? values.at(-1) : last
  return changeOf(from === "" ? undefined : from, to)
}

const fileChange = (before: RepositoryState, now: RepositoryState, name: string): ValueChange | undefined => {
  const [from, to] = [before.files.get(name), now.files.get(name)]
  return from === to ? undefined : changeOf(from, to)
}

const changesOf = (
  names: Iterable<string>,
  isWhole: boolean,
  change: (name: string) => ValueChange | undefined
): ReadonlyArray<NamedChange> =>
  [...new Set(names)].toSorted().flatMap((name) => {
    const found = change(name)
    // A limit leaves names out: a name that only one state has may have been there.
    const isUnknown = !isWhole && (found?.from === undefined || found.to === undefined)
    return found === undefined || isUnknown ? [] : [[name, found] as const]
  })

/** `undefined` if nothing differs. */
export const repositoryDifference = (
  before: RepositoryState,
  now: RepositoryState
): RepositoryDifference | undefined => {
  const isWhole = before.isComplete && now.isComplete
  const refNames = [...before.refs.keys(), ...now.refs.keys(), ...now.edge.keys()]
  const refs = changesOf(refNames, isWhole, (name) => refChange(before, now, name))
  const fileNames = [...before.files.keys(), ...now.files.keys()]
  const files = changesOf(fileNames, isWhole, (name) => fileChange(before, now, name))
  const [isHead, isIndex] = [before.head !== now.head, before.index !== now.index]
  if (refs.length === 0 && files.length === 0 && !isHead && !isIndex) return undefined
  return {
    refs,
    files,
    head: isHead ? { from: before.head, to: now.head } : undefined,
    index: isIndex ? { from: before.index, to: now.index } : undefined
  }
}

const none: RepositoryDifference = { refs: [], files: [], head: undefined, index: undefined }

const kindOf = ({ from, to }: ValueChange): ChangeKind =>
  from === undefined ? "created" : to === undefined ? "deleted" : "modified"

/** The difference as an event has it. `isIncomplete`: some names were not compared. `discarded`: files that the run made and that were removed. */
export const repositoryChanged = (
  { files, head, index, refs }: RepositoryDifference = none,
  isIncomplete: boolean,
  discarded: ReadonlySet<string>
): RepositoryChanged => {
  const changed: ReadonlyArray<RepositoryFileChange> = [
    ...[...discarded].map((path) => ({ path, change: "created", discarded: true }) as const),
    ...files.flatMap(([path, change]) => (discarded.has(path) ? [] : [{ path, change: kindOf(change) }]))
  ]
  return {
    refs: refs.slice(0, MAX_LISTED_REFS).map(([name, change]): RefChange => ({ name, ...change })),
    count: refs.length,
    ...(head === undefined ? {} : { head }),
    ...(index === undefined ? {} : { index: true }),
    ...(changed.length === 0 ? {} : { files: changed.slice(0, MAX_LISTED_REFS), fileCount: changed.length }),
    ...(isIncomplete ? { incomplete: true } : {})
  }
}

// Hash of what a commit of an index would contain: names, contents and modes, and the extensions from which git builds trees. Times and sizes of
// files, which git renews when it only reads, do not count. Pure.
//
// Does not: read an index whose format is not 2 or 3. Such an index counts as a whole.

const HEADER = 12
const MODE_AT = 24
const ID_AT = 40
const EXTENDED = 0x4000
const NAME_BITS = 0xfff
const EXTENSION_HEADER = 8
/** Trees that git takes over into a commit, conflicts that it can bring back, and the rest of an index that is in another file. */
const COUNTED = new Set(["TREE", "REUC", "link", "sdir"])

/** Adds one entry. Returns where the next one starts; `undefined` for an entry that is cut. */
const addEntry = (hash: Hash, bytes: Buffer, at: number, idBytes: number): number | undefined => {
  if (at + ID_AT + idBytes + 2 > bytes.length) return undefined
  const flags = bytes.readUInt16BE(at + ID_AT + idBytes)
  const isExtended = (flags & EXTENDED) !== 0
  const start = at + ID_AT + idBytes + (isExtended ? 4 : 2)
  const end = bytes.indexOf(0, start)
  if (end === -1) return undefined
  hash.update(bytes.subarray(at + MODE_AT, at + MODE_AT + 4))
  hash.update(bytes.subarray(at + ID_AT, at + ID_AT + idBytes))
  if (isExtended) hash.update(bytes.subarray(start - 2, start))
  hash.update(`${flags & ~(NAME_BITS | EXTENDED)} `).update(bytes.subarray(start, end + 1))
  // Entries end with one to eight zero bytes.
  return at + Math.ceil((end - at + 1) / 8) * 8
}

const addExtensions = (hash: Hash, bytes: Buffer, start: number, idBytes: number): void => {
  for (let at = start; at + EXTENSION_HEADER <= bytes.length - idBytes;) {
    const end = at + EXTENSION_HEADER + bytes.readUInt32BE(at + 4)
    if (COUNTED.has(bytes.toString("latin1", at, at + 4))) hash.update(bytes.subarray(at, end))
    at = end
  }
}

/** `idBytes`: length of an object's name. */
const indexHash = (bytes: Buffer, idBytes: number): string => {
  const whole = (): string => createHash("sha256").update(bytes).digest("hex")
  const isIndex = bytes.length > HEADER && bytes.toString("latin1", 0, 4) === "DIRC"
  const version = isIndex ? bytes.readUInt32BE(4) : 0
  if (version !== 2 && version !== 3) return whole()
  const hash = createHash("sha256")
  let at: number | undefined = HEADER
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    at = addEntry(hash, bytes, at, idBytes)
    if (at === undefined) return whole()
  }
  addExtensions(hash, bytes, at, idBytes)
  return hash.digest("hex")
}

export interface RepositoryPlace {
  /** Has `objects` and `refs`. */
  readonly common: string
  /** Has `HEAD` and `index`: of a linked worktree, its part. */
  readonly folder: string
}

export interface RepositoryState {
  readonly refs: ReadonlyMap<string, string>
  /** Refs of the Edge, with what they may name. */
  readonly edge: ReadonlyMap<string, RefValues>
  readonly head: string
  /** Hash of the names, contents and modes of the index. */
  readonly index: string
  /** Differs after every change of the index file. */
  readonly stamp: string
  /** Values of the other files that git reads. */
  readonly files: ReadonlyMap<string, string>
  /** Whether no limit was reached. */
  readonly isComplete: boolean
}

const MAX_PACKED = 67_108_864
const MAX_INDEX = 268_435_456
const MISSING = "missing"
const PACKED = "packed-refs"
/** Value of `packed-refs` in the form that git writes: its refs count, and not its bytes. */
const PLAIN = "plain"

const ID_BYTES = { sha1: 20, sha256: 32 }

/** The repository of the folder `root`, if a run in this folder may write it. */
export const repositoryPlace = (root: string): RepositoryPlace | undefined => {
  const at = join(root, ".git")
  if (lstatSync(at, { throwIfNoEntry: false })?.isDirectory() === true) return { common: at, folder: at }
  const part = partOfWorktree(root)
  return part === undefined ? undefined : { common: dirname(dirname(part)), folder: part }
}

const readFiles = ({ common, folder }: RepositoryPlace): RepositoryFiles => {
  const all = repositoryFiles(common)
  if (folder === common) return all
  const ofPart = repositoryFiles(folder)
  const prefix = `worktrees/${basename(folder)}`
  const prefixed = (values: ReadonlyMap<string, string>) =>
    [...values].map(([name, value]) => [`${prefix}/${name}`, value] as const)
  return {
    refs: all.refs,
    files: new Map([...all.files, ...prefixed(ofPart.refs), ...prefixed(ofPart.files)]),
    isComplete: all.isComplete && ofPart.isComplete
  }
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** The refs in `packed-refs`, and whether the file is in the form that git writes. */
const readPacked = (
  common: string
): { readonly refs: ReadonlyMap<string, string>; readonly value: string } => {
  const path = join(common, PACKED)
  if (!exists(path)) return { refs: new Map(), value: PLAIN }
  const bytes = smallFileBytes(path, MAX_PACKED)
  const refs = refsOfText(bytes === undefined ? "" : pathText(bytes))
  const isPlain = bytes !== undefined && isPlainPackedRefs(bytes.toString("latin1"))
  return { refs, value: isPlain ? PLAIN : fileValue(Buffer.from(path), MAX_PACKED) }
}

const readHead = (path: string): string =>
  smallFile(path)?.trim() ?? (exists(path) ? fileValue(Buffer.from(path)) : MISSING)

const readIndex = (
  { common, folder }: RepositoryPlace,
  earlier: RepositoryState | undefined
): Pick<RepositoryState, "index" | "stamp"> => {
  const path = join(folder, "index")
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return { stamp: MISSING, index: MISSING }
  const stamp = `${stat.ino} ${stat.size} ${stat.ctimeNs}`
  if (earlier?.stamp === stamp) return { stamp, index: earlier.index }
  const bytes = smallFileBytes(path, MAX_INDEX)
  const idBytes = ID_BYTES[readWorkspaceRepository(common).format]
  return { stamp, index: bytes === undefined ? `unread ${stamp}` : indexHash(bytes, idBytes) }
}

/** State of a folder without a repository. Something else may have its name. */
const noState = (root: string): RepositoryState => {
  const at = join(root, ".git")
  return {
    refs: new Map(),
    edge: new Map(),
    head: MISSING,
    index: MISSING,
    stamp: MISSING,
    files: new Map([[PACKED, PLAIN], ...(exists(at) ? [[".git", fileValue(Buffer.from(at))] as const] : [])]),
    isComplete: true
  }
}

/** The state of the repository of the folder `root`. `earlier`: its index is not read again if the file is the same. */
export const repositoryState = (
  root: string,
  edgeRefs?: { readonly of: (repository: string) => ReadonlyMap<string, RefValues> },
  earlier?: RepositoryState
): RepositoryState => {
  const place = repositoryPlace(root)
  if (place === undefined) return noState(root)
  const { files, isComplete, refs } = readFiles(place)
  const packed = readPacked(place.common)
  return {
    refs: new Map([...packed.refs, ...refs]),
    edge: edgeRefs?.of(place.common) ?? new Map(),
    head: readHead(join(place.folder, "HEAD")),
    ...readIndex(place, earlier),
    files: new Map([...files, [PACKED, packed.value]]),
    isComplete
  }
}
