/**
 * Objects of git that the Edge stores itself, one file for each: every process of git takes milliseconds. Contents, trees of names, and the tree of
 * a small state.
 *
 * Guarantees: an object has its name only when its file is complete. An object that exists is not written again.
 * Does not: wait for the disk.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { deflateSync } from "node:zlib"
import { entryMode, type IndexEntry, oidOf, readIndex } from "./IndexFile.ts"

/** Stores an object. Returns its id. `objects`: folder of a repository with SHA-1 names. */
export const storeObject = (objects: string, kind: "blob" | "tree", content: Buffer): Buffer => {
  const whole = Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content])
  const oid = createHash("sha1").update(whole).digest()
  const name = oid.toString("hex")
  const file = join(objects, name.slice(0, 2), name.slice(2))
  if (existsSync(file)) return oid
  makeFolder(dirname(file))
  writeFileSync(`${file}.next`, deflateSync(whole, { level: 1 }), { mode: 0o400 })
  renameSync(`${file}.next`, file)
  return oid
}

/** An entry of a tree. `mode`: octal, as git writes it. */
export const treeRecord = (mode: string, name: Buffer, oid: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${mode} `), name, Buffer.alloc(1), oid])

const SLASH = 0x2f
const FOLDER_MODE = "40000"

/** Stores the tree of the entries in a folder, whose path has `depth` bytes. In the order of paths, a folder's entries follow each other. */
const storeFolder = (objects: string, entries: ReadonlyArray<IndexEntry>, depth: number): Buffer => {
  const records: Array<Buffer> = []
  for (let at = 0; at < entries.length;) {
    const entry = entries[at]
    if (entry === undefined) break
    const { path } = entry
    const slash = path.indexOf(SLASH, depth)
    if (slash === -1) {
      records.push(treeRecord(entryMode(entry).toString(8), path.subarray(depth), oidOf(entry)))
      at++
      continue
    }
    const folder = path.subarray(0, slash + 1)
    let end = at + 1
    while (entries[end]?.path.subarray(0, slash + 1).equals(folder) === true) end++
    const oid = storeFolder(objects, entries.slice(at, end), slash + 1)
    records.push(treeRecord(FOLDER_MODE, path.subarray(depth, slash), oid))
    at = end
  }
  return storeObject(objects, "tree", Buffer.concat(records))
}

/** Some 2,500 paths. Of more, git writes only the folders that changed. */
const MAX_INDEX = 262_144

/** Stores the tree of an index file. Returns its id; `undefined` if git has to write it. */
export const storeSmallTree = (objects: string, index: string): string | undefined => {
  if (statSync(index).size > MAX_INDEX) return undefined
  const entries = readIndex(readFileSync(index))
  return entries && storeFolder(objects, entries, 0).toString("hex")
}
