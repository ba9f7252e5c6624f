/**
 * Index files of git, read and written without git: the paths of a state with their content and the times by which git sees that a file is unchanged.
 *
 * Guarantees: an index of an untrusted program is read in one pass within its bounds. A path that git would not accept in a tree makes the whole
 * index unreadable.
 * Does not: read an index that needs another file (split) or that stands for folders (sparse). Conflicts and entries without a file are left out.
 */
import { createHash } from "node:crypto"

export interface IndexEntry {
  /** Times, device, inode, mode, owner and size, as git stores them, and the id of the content. */
  readonly facts: Buffer
  readonly path: Buffer
}

export const STAT_BYTES = 40
const OID_BYTES = 20
const FACT_BYTES = STAT_BYTES + OID_BYTES
const HEADER_BYTES = 12
const MODE_AT = 24
const SIZE_AT = 36
const NAME_BITS = 0xfff
const STAGE_BITS = 0x3000
const EXTENDED = 0x4000
/** Entries that have no file (`skip-worktree`), or no content yet (`intent-to-add`). */
const WITHOUT_FILE = 0x6000

export const FILE_MODE = 0o100644
export const PROGRAM_MODE = 0o100755
export const LINK_MODE = 0o120000
export const REPOSITORY_MODE = 0o160000

export const entryMode = ({ facts }: IndexEntry): number => facts.readUInt32BE(MODE_AT)
/** Lowest 32 bits of the file's size; 0 if git has to compare the content. */
export const entrySize = ({ facts }: IndexEntry): number => facts.readUInt32BE(SIZE_AT)

export const oidOf = ({ facts }: IndexEntry): Buffer => facts.subarray(STAT_BYTES)
/** Whether the entry has these times, this mode and this size. */
export const hasStat = ({ facts }: IndexEntry, stat: Buffer): boolean =>
  facts.compare(stat, 0, STAT_BYTES, 0, STAT_BYTES) === 0
/** Last change of the content, in nanoseconds. */
export const changedNs = ({ facts }: IndexEntry): bigint =>
  BigInt(facts.readUInt32BE(8)) * 1_000_000_000n + BigInt(facts.readUInt32BE(12))

export const indexEntry = (path: Buffer, stat: Buffer, oid: Buffer): IndexEntry => ({
  facts: Buffer.concat([stat, oid], FACT_BYTES),
  path
})

/** An entry without times, which git compares with the file's content. */
export const plainEntry = (path: Buffer, mode: number, oid: Buffer): IndexEntry => {
  const stat = Buffer.alloc(STAT_BYTES)
  stat.writeUInt32BE(mode, MODE_AT)
  return indexEntry(path, stat, oid)
}

const hasChecksum = (bytes: Buffer): boolean => {
  const end = bytes.length - OID_BYTES
  const checksum = bytes.subarray(end)
  // `index.skipHash` leaves it empty.
  if (checksum.every((byte) => byte === 0)) return true
  return createHash("sha1").update(bytes.subarray(0, end)).digest().equals(checksum)
}

const SLASH = 0x2f
const DOT = 0x2e

/** Whether a tree may have this part of a path: it is not empty, not `.` or `..`, and no repository. */
const isTreePart = (path: Buffer, from: number, to: number): boolean => {
  if (from === to) return false
  if (path[from] !== DOT || to - from > 4) return true
  const part = path.toString("latin1", from, to)
  return part !== "." && part !== ".." && part.toLowerCase() !== ".git"
}

const isTreePath = (path: Buffer): boolean => {
  let from = 0
  // A loop costs less than a call for each part.
  for (let at = 0; at < path.length; at++) {
    if (path[at] !== SLASH) continue
    if (!isTreePart(path, from, at)) return false
    from = at + 1
  }
  return isTreePart(path, from, path.length)
}

/** Negative if the first path comes before the second, 0 if they are the same. */
const comparePaths = (one: Buffer, other: Buffer): number => {
  const end = Math.min(one.length, other.length)
  let at = 0
  while (at < end && one[at] === other[at]) at++
  return at < end ? (one[at] ?? 0) - (other[at] ?? 0) : one.length - other.length
}

interface Cursor {
  readonly bytes: Buffer
  readonly version: number
  at: number
  path: Buffer
}

/** Number that version 4 puts before a path: how many bytes of the path before are dropped. */
const readDropped = (cursor: Cursor): number | undefined => {
  let byte = cursor.bytes[cursor.at++] ?? 0
  let value = byte & 0x7f
  while (byte & 0x80) {
    if (value > 0xffff) return undefined
    byte = cursor.bytes[cursor.at++] ?? 0
    value = ((value + 1) << 7) | (byte & 0x7f)
  }
  return value
}

/** `undefined` if the index is damaged. Moves behind the entry. */
const readPath = (cursor: Cursor, start: number, nameLength: number): Buffer | undefined => {
  const { bytes, version } = cursor
  let before: Buffer = Buffer.alloc(0)
  if (version === 4) {
    const dropped = readDropped(cursor)
    if (dropped === undefined || dropped > cursor.path.length) return undefined
    before = cursor.path.subarray(0, cursor.path.length - dropped)
  }
  const isShort = version !== 4 && nameLength < NAME_BITS
  const end = isShort ? cursor.at + nameLength : bytes.indexOf(0, cursor.at)
  if (end < 0 || end >= bytes.length || bytes[end] !== 0) return undefined
  const rest = bytes.subarray(cursor.at, end)
  cursor.at = version === 4 ? end + 1 : start + ((end - start + 8) & ~7)
  cursor.path = before.length === 0 ? rest : Buffer.concat([before, rest])
  return cursor.path
}

/** Whether the extensions end where the checksum starts, and none is needed to read the entries. */
const canSkipExtensions = (bytes: Buffer, from: number): boolean => {
  const end = bytes.length - OID_BYTES
  let at = from
  while (at + 8 <= end) {
    const first = bytes[at] ?? 0
    if (first < 0x41 || first > 0x5a) return false
    at += 8 + bytes.readUInt32BE(at + 4)
  }
  return at === end
}

/** Entries in the order of their paths; `undefined` if the index cannot be read. */
export const readIndex = (bytes: Buffer): ReadonlyArray<IndexEntry> | undefined => {
  if (bytes.length < HEADER_BYTES + OID_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return undefined
  const [version, count] = [bytes.readUInt32BE(4), bytes.readUInt32BE(8)]
  if (version < 2 || version > 4 || !hasChecksum(bytes)) return undefined
  const end = bytes.length - OID_BYTES
  const entries: Array<IndexEntry> = []
  const cursor: Cursor = { bytes, version, at: HEADER_BYTES, path: Buffer.alloc(0) }
  for (let n = 0; n < count; n++) {
    const start = cursor.at
    cursor.at = start + FACT_BYTES + 2
    if (cursor.at >= end) return undefined
    const flags = bytes.readUInt16BE(cursor.at - 2)
    const extended = (flags & EXTENDED) === 0 || version === 2 ? 0 : bytes.readUInt16BE(cursor.at)
    if ((flags & EXTENDED) !== 0 && version > 2) cursor.at += 2
    const before = cursor.path
    const path = readPath(cursor, start, flags & NAME_BITS)
    if (path === undefined || cursor.at > end || !isTreePath(path)) return undefined
    const order = comparePaths(before, path)
    if (order > 0 || (order === 0 && (flags & STAGE_BITS) === 0)) return undefined
    if ((flags & STAGE_BITS) !== 0 || (extended & WITHOUT_FILE) !== 0) continue
    entries.push({ facts: bytes.subarray(start, start + FACT_BYTES), path })
  }
  return canSkipExtensions(bytes, cursor.at) ? entries : undefined
}

const entryBytes = ({ path }: IndexEntry): number => (FACT_BYTES + 2 + path.length + 8) & ~7

const isSorted = (entries: ReadonlyArray<IndexEntry>): boolean => {
  for (let at = 1; at < entries.length; at++) {
    const [before, entry] = [entries[at - 1], entries[at]]
    if (before === undefined || entry === undefined || comparePaths(before.path, entry.path) >= 0)
      return false
  }
  return true
}

const sortedEntries = (entries: ReadonlyArray<IndexEntry>): ReadonlyArray<IndexEntry> => {
  const byPath = entries.toSorted((a, b) => comparePaths(a.path, b.path))
  return byPath.filter((entry, at) => byPath[at + 1]?.path.equals(entry.path) !== true)
}

/** An index of version 2. Two entries with one path leave the last one. */
export const writeIndex = (entries: ReadonlyArray<IndexEntry>): Buffer => {
  const sorted = isSorted(entries) ? entries : sortedEntries(entries)
  const size = sorted.reduce((sum, entry) => sum + entryBytes(entry), HEADER_BYTES)
  const bytes = Buffer.alloc(size + OID_BYTES)
  bytes.write("DIRC", "latin1")
  bytes.writeUInt32BE(2, 4)
  bytes.writeUInt32BE(sorted.length, 8)
  let at = HEADER_BYTES
  for (const entry of sorted) {
    const { facts, path } = entry
    bytes.set(facts, at)
    bytes.writeUInt16BE(Math.min(path.length, NAME_BITS), at + FACT_BYTES)
    bytes.set(path, at + FACT_BYTES + 2)
    at += entryBytes(entry)
  }
  createHash("sha1").update(bytes.subarray(0, at)).digest().copy(bytes, at)
  return bytes
}
