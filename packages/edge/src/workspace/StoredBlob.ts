/**
 * Contents of files and links, stored as loose objects of git, without git.
 *
 * Guarantees: a file is opened only if it is regular, and never waited for. Its times are those of the file that was read.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { createHash } from "node:crypto"
import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { deflateSync } from "node:zlib"
import { FILE_MODE, indexEntry, type IndexEntry, LINK_MODE, PROGRAM_MODE, STAT_BYTES } from "./IndexFile.ts"

/** Largest file that is read. */
const MAX_BLOB_BYTES = 67_108_864

const BILLION = 1_000_000_000n

const modeOfFile = (stats: BigIntStats): number =>
  stats.isSymbolicLink() ? LINK_MODE : (stats.mode & 0o100n) === 0n ? FILE_MODE : PROGRAM_MODE

/** The facts of a file that an index has, as git stores them. */
export const indexStat = (stats: BigIntStats): Buffer => {
  const bytes = Buffer.alloc(STAT_BYTES)
  const { ctimeNs, dev, gid, ino, mtimeNs, size, uid } = stats
  const fields = [
    ctimeNs / BILLION,
    ctimeNs % BILLION,
    mtimeNs / BILLION,
    mtimeNs % BILLION,
    dev,
    ino,
    BigInt(modeOfFile(stats)),
    uid,
    gid,
    size
  ]
  fields.forEach((field, at) => bytes.writeUInt32BE(Number(BigInt.asUintN(32, field)), at * 4))
  return bytes
}

/** Stores a content. Returns its id. */
const storeBlob = (objects: string, content: Buffer): Buffer => {
  const whole = Buffer.concat([Buffer.from(`blob ${content.length}\0`), content])
  const oid = createHash("sha1").update(whole).digest()
  const name = oid.toString("hex")
  const file = join(objects, name.slice(0, 2), name.slice(2))
  if (existsSync(file)) return oid
  makeFolder(dirname(file))
  writeFileSync(`${file}.next`, deflateSync(whole, { level: 1 }), { mode: 0o400 })
  renameSync(`${file}.next`, file)
  return oid
}

/** Reads a regular file or a link and stores it; `undefined` if it cannot be read, or is too large. `file`: absolute path. */
export const storeFile = (
  objects: string,
  file: Buffer,
  path: Buffer,
  seen: BigIntStats
): IndexEntry | undefined => {
  if (seen.isSymbolicLink()) {
    try {
      return indexEntry(path, indexStat(seen), storeBlob(objects, readlinkSync(file, { encoding: "buffer" })))
    } catch {
      return undefined
    }
  }
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = fstatSync(descriptor, { bigint: true })
    if (!stats.isFile() || stats.size > MAX_BLOB_BYTES) return undefined
    return indexEntry(path, indexStat(stats), storeBlob(objects, readFileSync(descriptor)))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
