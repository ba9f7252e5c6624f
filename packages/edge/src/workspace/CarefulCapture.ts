/**
 * State of a tree that git cannot read because something in it blocks git: a pipe as a file of rules, for example. The Edge walks the tree
 * itself, and git only says which names are ignored, from copies of the files of rules that are regular.
 *
 * Guarantees: git opens nothing of the tree. The work is bounded by the number of names; what is beyond, or cannot be read, is named.
 * Does not: read the attributes of a tree, or rules inside the folder of a repository.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import {
  type BigIntStats,
  type Dirent,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { readdir } from "node:fs/promises"
import { dirname } from "node:path"
import type { GitFailed } from "./Git.ts"
import {
  FILE_MODE,
  type IndexEntry,
  LINK_MODE,
  PROGRAM_MODE,
  STAT_BYTES,
  hasStat,
  indexEntry
} from "./IndexFile.ts"
import { storeObject } from "./LooseObject.ts"
import { smallFileBytes } from "./UntrustedFiles.ts"
import { MAX_RULES, type SnapshotTree } from "./SnapshotTree.ts"

// Contents of files and links, stored without git.
//
// Guarantees: a file is opened only if it is regular, and never waited for. Its times are those of the file that was read.

/** Largest file that is read. */
const MAX_BLOB_BYTES = 67_108_864

const BILLION = 1_000_000_000n

const modeOfFile = (stats: BigIntStats): number =>
  stats.isSymbolicLink() ? LINK_MODE : (stats.mode & 0o100n) === 0n ? FILE_MODE : PROGRAM_MODE

/** The facts of a file that an index has, as git stores them. */
const indexStat = (stats: BigIntStats): Buffer => {
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

/** Reads a regular file or a link and stores it; `undefined` if it cannot be read, or is too large. `file`: absolute path. */
const storeFile = (
  objects: string,
  file: Buffer,
  path: Buffer,
  seen: BigIntStats
): IndexEntry | undefined => {
  if (seen.isSymbolicLink()) {
    try {
      return indexEntry(
        path,
        indexStat(seen),
        storeObject(objects, "blob", readlinkSync(file, { encoding: "buffer" }))
      )
    } catch {
      return undefined
    }
  }
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = fstatSync(descriptor, { bigint: true })
    if (!stats.isFile() || stats.size > MAX_BLOB_BYTES) return undefined
    return indexEntry(path, indexStat(stats), storeObject(objects, "blob", readFileSync(descriptor)))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

export interface CarefulOptions {
  readonly tree: SnapshotTree
  /** The state before, by the bytes of its paths in Latin-1. Its entries are newer than their files. */
  readonly earlier: ReadonlyMap<string, IndexEntry>
  /** Folder for copies of rules. */
  readonly mirror: string
  /** Folder for contents. */
  readonly objects: string
  /** Runs `git check-ignore` on the folder `mirror`. */
  readonly ignored: (paths: Buffer) => Effect.Effect<Buffer, GitFailed>
}

export interface CarefulState {
  readonly entries: ReadonlyArray<IndexEntry>
  /** Paths that are not in the state, in bytes. A folder ends with a slash. */
  readonly leftOut: ReadonlyArray<Buffer>
  /** Whether the tree has a pipe, a socket, a device, a file of rules that is too large, or anything that is left out. */
  readonly isHostile: boolean
}

/** Names of one tree. */
const MAX_NAMES = 500_000
/** Names for one git process, at least. */
const BATCH = 2_000
/** Files between two pauses. */
const STEP = 64

/** Paths are text in Latin-1: each character is a byte. */
const bytesOf = (path: string): Buffer => Buffer.from(path, "latin1")
const inside = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`)

interface Walk {
  readonly options: CarefulOptions
  readonly files: Array<string>
  leftOut: Array<string>
  names: number
  isHostile: boolean
}

const absolute = (folder: string, path: string): Buffer =>
  path === "" ? Buffer.from(folder) : Buffer.concat([Buffer.from(`${folder}/`), bytesOf(path)])

/** `undefined` if it does not exist. */
const statOf = (file: Buffer): BigIntStats | "unreadable" | undefined => {
  try {
    return lstatSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return "unreadable"
  }
}

/** Copies the rules of a folder. */
const copyRules = ({ options: { mirror, tree } }: Walk, folder: string): boolean => {
  const path = inside(folder, ".gitignore")
  const rules = smallFileBytes(absolute(tree.top, path), MAX_RULES)
  if (rules !== undefined) writeFileSync(absolute(mirror, path), rules)
  return rules !== undefined
}

const makeMirrored = ({ options: { mirror } }: Walk, folder: string): boolean => {
  try {
    mkdirSync(absolute(mirror, folder), { mode: 0o700 })
    return true
  } catch {
    // Its path is too long here.
    return false
  }
}

const entriesOf = (folder: Buffer): Effect.Effect<ReadonlyArray<Dirent> | undefined> =>
  Effect.promise(() => readdir(folder, { encoding: "latin1", withFileTypes: true }).catch(() => undefined))

/** Files of a repository that git opens to see that it is one. */
const REPOSITORY_FILES = ["HEAD", "config", "commondir", "packed-refs"]

const isBlockedRepository = (folder: Buffer): boolean =>
  REPOSITORY_FILES.some((name) => {
    const stats = statOf(Buffer.concat([folder, Buffer.from(`/${name}`)]))
    return stats !== undefined && (stats === "unreadable" || !stats.isFile())
  })

/** Names of one folder that may be part of the state. */
const readFolder = Effect.fnUntraced(function* (walk: Walk, folder: string) {
  const { options } = walk
  const found = yield* entriesOf(absolute(options.tree.top, folder))
  const [folders, files]: [Array<string>, Array<string>] = [[], []]
  if (found === undefined || walk.names + found.length > MAX_NAMES) {
    walk.leftOut.push(`${folder}/`)
    return { folders, files }
  }
  walk.names += found.length
  for (const entry of found) {
    const path = inside(folder, entry.name)
    if (entry.name.toLowerCase() === ".git") {
      walk.isHostile ||= isBlockedRepository(absolute(options.tree.top, path))
      continue
    }
    if (entry.isDirectory()) {
      if (makeMirrored(walk, path)) folders.push(path)
      else walk.leftOut.push(`${path}/`)
    } else if (entry.isFile() || entry.isSymbolicLink()) files.push(path)
    else walk.isHostile = true
    if (entry.name === ".gitignore" && entry.isFile() && !copyRules(walk, folder)) walk.isHostile = true
  }
  return { folders, files }
})

const ignoredOf = Effect.fnUntraced(function* ({ options }: Walk, paths: ReadonlyArray<string>) {
  if (paths.length === 0) return new Set<string>()
  // A colon at the start would mean something.
  const bytes = yield* options.ignored(bytesOf(paths.map((path) => `./${path}\0`).join("")))
  return new Set(
    bytes
      .toString("latin1")
      .split("\0")
      .map((path) => path.slice(2))
  )
})

/** Rules of the folders above the workspace. */
const mirrorTop = (walk: Walk): string => {
  const { mirror, tree } = walk.options
  rmSync(mirror, { recursive: true, force: true })
  makeFolder(mirror)
  let folder = ""
  for (const name of Buffer.from(tree.prefix)
    .toString("latin1")
    .split("/")
    .filter((part) => part !== "")) {
    copyRules(walk, folder)
    folder = inside(folder, name)
    makeMirrored(walk, folder)
  }
  return folder
}

/** Names of some levels of folders: each git process decides on many names. */
const readLevels = Effect.fnUntraced(function* (walk: Walk, first: ReadonlyArray<string>) {
  const [folders, files]: [Array<string>, Array<string>] = [[], []]
  let level = first
  while (level.length > 0 && folders.length + files.length < BATCH) {
    const found = yield* Effect.forEach(level, (folder) => readFolder(walk, folder))
    level = found.flatMap((each) => each.folders)
    folders.push(...level)
    files.push(...found.flatMap((each) => each.files))
  }
  return { folders, files, next: level }
})

const walkTree = Effect.fnUntraced(function* (walk: Walk) {
  const { earlier } = walk.options
  let level: ReadonlyArray<string> = [mirrorTop(walk)]
  while (level.length > 0) {
    const { files, folders, next } = yield* readLevels(walk, level)
    const ignored = yield* ignoredOf(walk, [...folders, ...files])
    for (const file of files) if (!ignored.has(file) || earlier.has(file)) walk.files.push(file)
    walk.leftOut = walk.leftOut.filter((path) => !ignored.has(path.slice(0, -1)))
    level = next.filter((folder) => !ignored.has(folder))
  }
})

/** Whether the folders of a path are folders, and not links. */
const hasRealFolders = (top: string, path: string): boolean => {
  try {
    const folder = absolute(top, path.includes("/") ? dirname(path) : "")
    return realpathSync.native(folder, { encoding: "buffer" }).equals(folder)
  } catch {
    return false
  }
}

/** Files of the state before that are in ignored folders. */
const addKnown = ({ files, options: { earlier, tree } }: Walk): void => {
  const seen = new Set(files)
  for (const path of earlier.keys()) if (!seen.has(path) && hasRealFolders(tree.top, path)) files.push(path)
}

const entryOf = (
  { options: { earlier, objects } }: Walk,
  path: string,
  file: Buffer,
  stats: BigIntStats | "unreadable"
): IndexEntry | "gone" | "unreadable" => {
  if (stats === "unreadable") return stats
  if (!stats.isFile() && !stats.isSymbolicLink()) return "gone"
  const before = earlier.get(path)
  if (before !== undefined && hasStat(before, indexStat(stats))) return before
  return storeFile(objects, file, bytesOf(path), stats) ?? "unreadable"
}

/** Reads the files that differ from the state before. */
const readFiles = Effect.fnUntraced(function* (walk: Walk) {
  const { files, options } = walk
  const { tree } = options
  const entries: Array<IndexEntry> = []
  for (const [at, path] of files.entries()) {
    if (at % STEP === STEP - 1) yield* Effect.yieldNow
    const file = absolute(tree.top, path)
    const stats = statOf(file)
    const entry = stats === undefined ? "gone" : entryOf(walk, path, file, stats)
    if (entry === "unreadable") walk.leftOut.push(path)
    else if (entry !== "gone") entries.push(entry)
  }
  return entries
})

export const captureCarefully = Effect.fn("CarefulCapture.capture")(function* (
  options: CarefulOptions
): Effect.fn.Return<CarefulState, GitFailed> {
  const walk: Walk = { options, files: [], leftOut: [], names: 0, isHostile: false }
  yield* walkTree(walk).pipe(
    Effect.ensuring(Effect.sync(() => rmSync(options.mirror, { recursive: true, force: true })))
  )
  addKnown(walk)
  const entries = yield* readFiles(walk)
  return { entries, leftOut: walk.leftOut.map(bytesOf), isHostile: walk.isHostile || walk.leftOut.length > 0 }
})
