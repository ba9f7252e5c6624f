/**
 * Hash of what a commit of an index would contain: names, contents and modes, and the extensions from which git builds trees. Times and sizes of
 * files, which git renews when it only reads, do not count. Pure.
 *
 * Does not: read an index whose format is not 2 or 3. Such an index counts as a whole.
 */
import { createHash, type Hash } from "node:crypto"

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
export const indexHash = (bytes: Buffer, idBytes: number): string => {
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
