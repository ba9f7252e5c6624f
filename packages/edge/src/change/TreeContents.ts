/**
 * Contents and trees of a shadow repository: reads contents by their ids, stores new ones, and makes trees with other entries.
 *
 * Guarantees: a content that was stored is durable.
 */
import { Effect } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { deflateSync } from "node:zlib"
import { makeFolder } from "@corral/service/MakeFolder"
import { attemptFiles, GitFailed } from "../workspace/Git.ts"
import { type ShadowRepository, zeroTerminated } from "../workspace/ShadowRepository.ts"
import type { TreeEntry } from "../workspace/TreeDiff.ts"

/** Largest content that is read. */
export const MAX_CONTENT = 268_435_456
/** Bytes of contents that one process reads. */
const BATCH_BYTES = 33_554_432
const TOO_LARGE = "a content of a change is too large"
/** Bytes of the line before a content, at most. */
const HEAD = 80

/** Id of a content, as git counts it. */
export const contentId = (content: Buffer): string =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex")

/** Stores a content durably. Returns its id. */
export const storeContent = (shadow: ShadowRepository, content: Buffer): Effect.Effect<string, GitFailed> =>
  attemptFiles(() => {
    const id = contentId(content)
    const file = join(shadow.objects, id.slice(0, 2), id.slice(2))
    if (existsSync(file)) return id
    const folder = dirname(file)
    makeFolder(folder)
    const temporary = `${file}.${randomUUID()}`
    try {
      const whole = Buffer.concat([Buffer.from(`blob ${content.length}\0`), content])
      writeFileSync(temporary, deflateSync(whole, { level: 1 }), { mode: 0o400, flush: true })
      renameSync(temporary, file)
    } catch (cause) {
      rmSync(temporary, { force: true })
      throw cause
    }
    syncFolder(folder)
    syncFolder(shadow.objects)
    return id
  })

const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Sizes that were read, by repository and id: a content never changes, and a decision needs each of them several times. */
const readSizes = new Map<string, number>()
const MAX_SIZES = 50_000

const rememberSize = ({ folder }: ShadowRepository, id: string, size: number): void => {
  const oldest = readSizes.size < MAX_SIZES ? undefined : readSizes.keys().next().value
  if (oldest !== undefined) readSizes.delete(oldest)
  readSizes.set(`${folder} ${id}`, size)
}

/** Sizes of these contents, by their ids. Fails if one is missing. One that is lost later fails when it is read. */
export const sizesOf = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  ids: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyMap<string, number>, GitFailed> {
  const sizes = new Map<string, number>()
  const unread: Array<string> = []
  for (const id of new Set(ids)) {
    const size = readSizes.get(`${shadow.folder} ${id}`)
    if (size === undefined) unread.push(id)
    else sizes.set(id, size)
  }
  if (unread.length === 0) return sizes
  const { bytes } = yield* shadow.run(["cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)"], {
    stdin: Buffer.from(unread.map((id) => `${id}\n`).join(""))
  })
  const lines = bytes.toString("latin1").split("\n")
  for (const [at, id] of unread.entries()) {
    const [type, size] = lines[at]?.split(" ") ?? []
    if (type !== "blob") return yield* new GitFailed({ message: "a content of a change is missing" })
    sizes.set(id, Number(size))
    rememberSize(shadow, id, Number(size))
  }
  return sizes
})

/** Parses the output of `git cat-file --batch`: a head with the size, the content and a newline for each id. */
const readBatch = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const contents: Array<Buffer> = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at)
    const size = Number(bytes.toString("latin1", at, end).split(" ")[2])
    if (end === -1 || !Number.isSafeInteger(size)) break
    contents.push(bytes.subarray(end + 1, end + 1 + size))
    at = end + size + 2
  }
  return contents
}

/** Calls `use` with each of these contents, in groups that fit into memory. Fails if one is too large. */
export const eachContent = Effect.fnUntraced(function* <E, R>(
  shadow: ShadowRepository,
  ids: ReadonlyArray<string>,
  use: (id: string, content: Buffer) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | GitFailed, R> {
  const sizes = yield* sizesOf(shadow, ids)
  const waiting = [...sizes]
  while (waiting.length > 0) {
    const group: Array<string> = []
    let total = 0
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      if (group.length > 0 && total + next[1] > BATCH_BYTES) break
      if (next[1] > MAX_CONTENT) return yield* new GitFailed({ message: TOO_LARGE })
      group.push(next[0])
      total += next[1] + HEAD
      waiting.shift()
    }
    const { bytes } = yield* shadow.run(["cat-file", "--buffer", "--batch"], {
      stdin: Buffer.from(group.map((id) => `${id}\n`).join("")),
      maxBytes: total + HEAD
    })
    const contents = readBatch(bytes)
    for (const [at, id] of group.entries()) {
      const content = contents[at]
      if (content === undefined) return yield* new GitFailed({ message: "a content of a change is missing" })
      yield* use(id, content)
    }
  }
})

/** One content. Fails if it is missing or too large. */
export const readContent = (shadow: ShadowRepository, id: string): Effect.Effect<Buffer, GitFailed> =>
  Effect.flatMap(shadow.run(["cat-file", "blob", id], { maxBytes: MAX_CONTENT }), ({ bytes, cut }) =>
    cut ? Effect.fail(new GitFailed({ message: TOO_LARGE })) : Effect.succeed(bytes)
  )

/** A path of a tree with its new entry; without one, the path is removed. */
export interface EntryChange {
  readonly path: Buffer
  readonly entry: TreeEntry | undefined
}

const NO_ENTRY = `0 ${"0".repeat(40)}`

/** The tree with other entries. */
export const treeWith = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  tree: string,
  changes: ReadonlyArray<EntryChange>
): Effect.fn.Return<string, GitFailed> {
  if (changes.length === 0) return tree
  const index = join(shadow.folder, `work-${randomUUID()}`)
  // Removals first: a file may become a folder, or a folder a file.
  const ordered = [
    ...changes.filter(({ entry }) => entry === undefined),
    ...changes.filter(({ entry }) => entry !== undefined)
  ]
  const lines = ordered.flatMap(({ entry, path }) => [
    Buffer.from(`${entry === undefined ? NO_ENTRY : `${entry.mode} ${entry.id}`}\t`),
    path,
    Buffer.from([0])
  ])
  return yield* Effect.gen(function* () {
    yield* shadow.run(["read-tree", tree], { index })
    yield* shadow.run(["update-index", "-z", "--index-info"], { index, stdin: Buffer.concat(lines) })
    return yield* shadow.treeOf(index)
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        for (const end of ["", ".lock"]) rmSync(`${index}${end}`, { force: true })
      })
    )
  )
})

/** Entries of a tree at these paths, by their bytes in Latin-1. */
export const entriesAt = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  tree: string,
  paths: ReadonlyArray<Buffer>
): Effect.fn.Return<ReadonlyMap<string, TreeEntry>, GitFailed> {
  const wanted = new Set(paths.map((path) => path.toString("latin1")))
  const { bytes } = yield* shadow.run(["ls-tree", "-r", "-z", "--full-tree", tree], { maxBytes: MAX_CONTENT })
  const found = new Map<string, TreeEntry>()
  for (const record of zeroTerminated(bytes)) {
    const tab = record.indexOf(0x09)
    const path = record.toString("latin1", tab + 1)
    if (!wanted.has(path)) continue
    const [mode = "", , id = ""] = record.toString("latin1", 0, tab).split(" ")
    found.set(path, { mode, id })
  }
  return found
})
