/**
 * The first state of a workspace, from the index of its repository: git then reads only files that changed since a person's last `git add` or
 * `git status`.
 *
 * Guarantees: the index is untrusted, and is used as far as it holds: an entry needs an ordinary mode, and a content in the object store that has the
 * size of the file. So files that git stores converted (line ends, large files elsewhere) are read from the tree.
 * Does not: compare the content. As for git itself, an entry with the times of its file has the content of its file.
 */
import { Effect } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import type { GitFailed } from "./Git.ts"
import {
  FILE_MODE,
  type IndexEntry,
  LINK_MODE,
  entryMode,
  oidOf,
  PROGRAM_MODE,
  readIndex,
  entrySize
} from "./IndexFile.ts"
import { MAX_INDEX, type ShadowRepository } from "./ShadowRepository.ts"
import { smallFileBytes } from "./SmallFile.ts"
import type { SnapshotTree } from "./SnapshotTree.ts"

export interface FirstEntries {
  readonly entries: ReadonlyArray<IndexEntry>
  /** Time of the index in seconds, never later than it is. */
  readonly seconds: number
}

const MODES: ReadonlySet<number> = new Set([FILE_MODE, PROGRAM_MODE, LINK_MODE])
const MODULUS = 0x1_0000_0000

const isInside = ({ path }: IndexEntry, folder: Buffer): boolean =>
  folder.length === 0 || path.subarray(0, folder.length).equals(folder)

const readEntries = ({ prefix, repository }: SnapshotTree): FirstEntries | undefined => {
  if (repository === undefined) return undefined
  const file = join(repository.folder, "index")
  // The time before the content: an index that is replaced in between only has more to compare.
  const time = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const bytes = smallFileBytes(file, MAX_INDEX)
  const start = Buffer.from(prefix)
  const entries = (bytes && readIndex(bytes))?.filter(
    (entry) => MODES.has(entryMode(entry)) && isInside(entry, start)
  )
  return entries === undefined || entries.length === 0
    ? undefined
    : { entries, seconds: Math.floor(time * 1_000) / 1_000_000 }
}

/** The ids of the contents, one a line. */
const idLines = (entries: ReadonlyArray<IndexEntry>): Buffer =>
  Buffer.from(Buffer.concat(entries.map(oidOf)).toString("hex").replaceAll(/.{40}/g, "$&\n"))

/** `undefined` if the repository has no index that can be used. */
export const firstEntries = Effect.fn("FirstIndex.read")(function* (
  shadow: ShadowRepository,
  tree: SnapshotTree
): Effect.fn.Return<FirstEntries | undefined, GitFailed> {
  const first = readEntries(tree)
  if (first === undefined) return undefined
  const stdin = idLines(first.entries)
  const args = ["cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)"]
  const { bytes } = yield* shadow.run(args, { stdin })
  const checked = bytes.toString("latin1").split("\n")
  const entries = first.entries.filter((entry, at) => {
    const [type, size] = checked[at]?.split(" ") ?? []
    return type === "blob" && Number(size) % MODULUS === entrySize(entry)
  })
  return { ...first, entries }
})
