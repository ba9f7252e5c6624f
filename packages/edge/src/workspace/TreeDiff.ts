/**
 * Difference of two trees of a repository: the files that differ, with names as bytes, and the hunks of text files.
 *
 * Guarantees: names are read from formats that end each name with a zero byte. Hunks are those of contents under names of this module, so that no
 * name of a file reaches git's arguments or is parsed from a patch.
 */
import { Effect } from "effect"
import { attemptFiles, GitFailed } from "./Git.ts"
import { storeObject, treeRecord } from "./LooseObject.ts"
import { type PatchHunk, readPatch } from "./PatchHunks.ts"
import { type ShadowRepository, zeroTerminated } from "./ShadowRepository.ts"

/** A file of a tree: its mode as git writes it, and the id of its content. */
export interface TreeEntry {
  readonly mode: string
  readonly id: string
}

export interface TreeChange {
  readonly path: Buffer
  /** The earlier name, of a renamed file. */
  readonly fromPath?: Buffer
  readonly status: "added" | "modified" | "deleted" | "renamed"
  /** Absent if the file was added. */
  readonly before?: TreeEntry
  /** Absent if the file was deleted. */
  readonly after?: TreeEntry
  readonly binary: boolean
  readonly additions: number
  readonly deletions: number
}

const statuses: Readonly<Record<string, TreeChange["status"]>> = { A: "added", D: "deleted", R: "renamed" }
const NO_MODE = "000000"

const entryOf = (mode = NO_MODE, id = ""): TreeEntry | undefined =>
  mode === NO_MODE ? undefined : { mode, id }

const COLON = 0x3a

/** Parses the output of `git diff-tree -r -z -M --raw --numstat`: a record per file, then the counts in the same order. */
export const readTreeDiff = (bytes: Buffer): ReadonlyArray<TreeChange> => {
  const fields = zeroTerminated(bytes)
  const found: Array<Omit<TreeChange, "binary" | "additions" | "deletions">> = []
  let at = 0
  while (fields[at]?.[0] === COLON) {
    const [oldMode = "", newMode, oldId, newId, letter = "M"] = (fields[at] ?? Buffer.alloc(0))
      .toString("latin1")
      .split(" ")
    const status = statuses[letter.charAt(0)] ?? "modified"
    const [before, after] = [entryOf(oldMode.slice(1), oldId), entryOf(newMode, newId)]
    const [one, two] = [fields[at + 1] ?? Buffer.alloc(0), fields[at + 2] ?? Buffer.alloc(0)]
    found.push({
      ...(status === "renamed" ? { path: two, fromPath: one } : { path: one }),
      status,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after })
    })
    at += status === "renamed" ? 3 : 2
  }
  return found.map((file) => {
    const [additions = "0", deletions = "0"] = fields[at]?.toString("latin1").split("\t") ?? []
    at += file.status === "renamed" ? 3 : 1
    const binary = additions === "-"
    return {
      ...file,
      binary,
      additions: binary ? 0 : Number(additions),
      deletions: binary ? 0 : Number(deletions)
    }
  })
}

/** Files that differ between two trees, in the order of git. */
export const changesBetween = (
  shadow: ShadowRepository,
  before: string,
  after: string
): Effect.Effect<ReadonlyArray<TreeChange>, GitFailed> =>
  before === after
    ? Effect.succeed([])
    : Effect.map(
        shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev", before, after], {
          maxBytes: MAX_LIST
        }),
        ({ bytes, cut }) => readTreeDiff(cut ? Buffer.alloc(0) : bytes)
      ).pipe(
        Effect.filterOrFail(
          (changes) => changes.length > 0,
          () => new GitFailed({ message: "the list of changed files is too long" })
        )
      )

/** Largest list of changed files. */
const MAX_LIST = 268_435_456

/** Contents of the two versions of a text file. */
export interface TextPair {
  readonly before: string
  readonly after: string
  /** Bytes of both. */
  readonly size: number
}

/** Files and bytes of one process. */
const MAX_PAIRS = 2_000
const MAX_BYTES = 8_388_608
/** Bytes of a patch for one byte of content, at most: a line of one byte has a mark and needs a head. */
const PATCH_FACTOR = 12
const PATCH_MARGIN = 1_048_576

const nameOf = (at: number): string => String(at).padStart(6, "0")

const treeOfContents = (
  { objects }: ShadowRepository,
  ids: ReadonlyArray<string>
): Effect.Effect<string, GitFailed> =>
  attemptFiles(() => {
    const records = ids.map((id, at) => treeRecord("100644", Buffer.from(nameOf(at)), Buffer.from(id, "hex")))
    return storeObject(objects, "tree", Buffer.concat(records)).toString("hex")
  })

/** Pairs with their place, in groups for one process. */
const groupsOf = (pairs: ReadonlyArray<TextPair>): ReadonlyArray<ReadonlyArray<number>> => {
  const groups: Array<Array<number>> = []
  let size = 0
  for (const [at, pair] of pairs.entries()) {
    const group = groups.at(-1)
    if (group === undefined || group.length >= MAX_PAIRS || size + pair.size > MAX_BYTES) {
      groups.push([at])
      size = pair.size
    } else {
      group.push(at)
      size += pair.size
    }
  }
  return groups
}

/** Hunks of the differences of these contents, in the order of the pairs. Both contents differ and are text. */
export const hunksBetween = Effect.fn("TreeDiff.hunksBetween")(function* (
  shadow: ShadowRepository,
  pairs: ReadonlyArray<TextPair>
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<PatchHunk>>, GitFailed> {
  const found: Array<ReadonlyArray<PatchHunk>> = []
  for (const group of groupsOf(pairs)) {
    const members = group.flatMap((at) => pairs[at] ?? [])
    const before = yield* treeOfContents(
      shadow,
      members.map((pair) => pair.before)
    )
    const after = yield* treeOfContents(
      shadow,
      members.map((pair) => pair.after)
    )
    const size = members.reduce((sum, pair) => sum + pair.size, 0)
    const { bytes, cut } = yield* shadow.run([...PATCH, before, after], {
      maxBytes: size * PATCH_FACTOR + members.length * 1_024 + PATCH_MARGIN
    })
    const sections = readPatch(bytes)
    if (cut || sections.length !== members.length)
      return yield* new GitFailed({ message: "the difference of two trees could not be read" })
    found.push(...sections)
  }
  return found
})

const PATCH = [
  "diff-tree",
  "-r",
  "-p",
  "-U3",
  "--no-renames",
  "--text",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--diff-algorithm=myers"
]
