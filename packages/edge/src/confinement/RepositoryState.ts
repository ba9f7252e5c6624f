/**
 * Refs, checked out branch and index of a workspace's repository, read as files. The repository may be hostile.
 *
 * Guarantees: no link is followed, nothing is waited for, and the work is bounded. Packed and loose refs are the same, and an index is compared
 * by its files and not by their times, which git renews when it only reads.
 */
import type { RefChange, RepositoryChanged } from "@corral/domain/run/RepositoryChange"
import { MAX_LISTED_REFS } from "@corral/domain/run/RepositoryChange"
import { createHash } from "node:crypto"
import { lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { refsOfText } from "../workspace/RefTable.ts"
import type { RefValues } from "../workspace/EdgeRefs.ts"
import { smallFile, smallFileBytes } from "../workspace/SmallFile.ts"
import { readWorkspaceRepository } from "../workspace/WorkspaceRepository.ts"

export interface RepositoryState {
  readonly refs: ReadonlyMap<string, string>
  /** Refs of the Edge, with what they may name. */
  readonly edge: ReadonlyMap<string, RefValues>
  readonly head: string
  /** Hash of the names, contents and modes of the index. */
  readonly index: string
  /** Differs after every change of the index file. */
  readonly stamp: string
}

const MAX_REFS = 50_000
const MAX_DEPTH = 20
const MAX_PACKED = 67_108_864
const MAX_INDEX = 268_435_456
const MISSING = "missing"

const looseRefs = (folder: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const folders: Array<readonly [name: string, depth: number]> = [["refs", 0]]
  for (const [name, depth] of folders) {
    if (found.size > MAX_REFS || depth > MAX_DEPTH) break
    let entries
    try {
      if (lstatSync(join(folder, name)).isSymbolicLink()) continue
      entries = readdirSync(join(folder, name), { withFileTypes: true })
    } catch {
      continue
    }
    for (const entry of entries) {
      const inside = `${name}/${entry.name}`
      if (entry.isDirectory()) folders.push([inside, depth + 1])
      else if (!entry.name.endsWith(".lock"))
        found.set(inside, smallFile(join(folder, inside))?.trim() ?? "unreadable")
    }
  }
  return found
}

const HEADER = 12
const MODE_AT = 24
const ID_AT = 40
const ID_BYTES = { sha1: 20, sha256: 32 }
const EXTENDED = 0x4000
const NAME_BITS = 0xfff

/** Hash of what a commit of the index would contain. An index in another format counts as a whole. */
const indexHash = (bytes: Buffer | undefined, idBytes: number): string => {
  if (bytes === undefined) return MISSING
  const hash = createHash("sha256")
  const version =
    bytes.length > HEADER && bytes.toString("latin1", 0, 4) === "DIRC" ? bytes.readUInt32BE(4) : 0
  if (version !== 2 && version !== 3) return hash.update(bytes).digest("hex")
  const count = bytes.readUInt32BE(8)
  let at = HEADER
  for (let entry = 0; entry < count; entry++) {
    if (at + ID_AT + idBytes + 2 > bytes.length) return createHash("sha256").update(bytes).digest("hex")
    const flags = bytes.readUInt16BE(at + ID_AT + idBytes)
    const start = at + ID_AT + idBytes + 2 + ((flags & EXTENDED) === 0 ? 0 : 2)
    const end = bytes.indexOf(0, start)
    if (end === -1) return createHash("sha256").update(bytes).digest("hex")
    hash.update(bytes.subarray(at + MODE_AT, at + MODE_AT + 4))
    hash.update(bytes.subarray(at + ID_AT, at + ID_AT + idBytes))
    hash.update(`${flags & ~(NAME_BITS | EXTENDED)} `).update(bytes.subarray(start, end + 1))
    // Entries end with one to eight zero bytes.
    at += Math.ceil((end - at + 1) / 8) * 8
  }
  return hash.digest("hex")
}

/** The state of the repository `folder`, a `.git`. `earlier`: its index is not read again if the file is the same. */
export const repositoryState = (
  folder: string,
  edge: ReadonlyMap<string, RefValues> = new Map(),
  earlier?: RepositoryState
): RepositoryState => {
  const path = join(folder, "index")
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  const stamp = stat === undefined ? MISSING : `${stat.ino} ${stat.size} ${stat.ctimeNs}`
  const packed = refsOfText(smallFile(join(folder, "packed-refs"), MAX_PACKED) ?? "")
  return {
    refs: new Map([...packed, ...looseRefs(folder)]),
    edge,
    head: smallFile(join(folder, "HEAD"))?.trim() ?? MISSING,
    stamp,
    index:
      earlier?.stamp === stamp
        ? earlier.index
        : indexHash(smallFileBytes(path, MAX_INDEX), ID_BYTES[readWorkspaceRepository(folder).format])
  }
}

/** What differs between two states, whole. */
export interface RepositoryDifference {
  readonly refs: ReadonlyArray<readonly [name: string, change: Omit<RefChange, "name">]>
  readonly head: { readonly from: string; readonly to: string } | undefined
  /** The index that is there now. */
  readonly index: string | undefined
}

/**
 * Change of one ref; `undefined` if there is none. A ref of the Edge may move to what the Edge has written, and to nothing else: it has changed as
 * well if it names again what it named before.
 */
const refChange = (
  before: RepositoryState,
  now: RepositoryState,
  name: string
): Omit<RefChange, "name"> | undefined => {
  const [last, to] = [before.refs.get(name), now.refs.get(name)]
  const values = now.edge.get(name)
  const isWritten = values !== undefined && String(values) !== String(before.edge.get(name))
  if (values?.includes(to ?? "") === true || (!isWritten && last === to)) return undefined
  const from = isWritten ? values.at(-1) : last
  return {
    ...(from === undefined || from === "" ? {} : { from }),
    ...(to === undefined ? {} : { to })
  }
}

/** `undefined` if nothing differs. */
export const repositoryDifference = (
  before: RepositoryState,
  now: RepositoryState
): RepositoryDifference | undefined => {
  const names = new Set([...before.refs.keys(), ...now.refs.keys(), ...now.edge.keys()])
  const refs = [...names].toSorted().flatMap((name) => {
    const change = refChange(before, now, name)
    return change === undefined ? [] : [[name, change] as const]
  })
  if (refs.length === 0 && before.head === now.head && before.index === now.index) return undefined
  return {
    refs,
    head: before.head === now.head ? undefined : { from: before.head, to: now.head },
    index: before.index === now.index ? undefined : now.index
  }
}

/** The difference as an event has it. */
export const repositoryChanged = ({ head, index, refs }: RepositoryDifference): RepositoryChanged => ({
  refs: refs.slice(0, MAX_LISTED_REFS).map(([name, change]): RefChange => ({ name, ...change })),
  count: refs.length,
  ...(head === undefined ? {} : { head }),
  ...(index === undefined ? {} : { index: true })
})
