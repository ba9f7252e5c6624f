/** Comparison of two states of a workspace: the files that differ, and the hunks of some of them. */
import { FileDiff } from "@corral/domain/edge-api/Diff"
import type { RunId } from "@corral/domain/identity/Ids"
import { LeftOut } from "@corral/domain/run/Worktree"
import { Effect, Schema, Struct } from "effect"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { isMarkedText, pathText } from "./PathText.ts"
import type { GitFailed } from "./Git.ts"
import { readPatch, shownHunk } from "./PatchHunks.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"
import { readTreeDiff } from "./TreeDiff.ts"

/** A file that differs, without its hunks. */
const ChangedFile = FileDiff.mapFields(Struct.omit(["hunks", "truncated"]))
type ChangedFile = typeof ChangedFile.Type

/** Files of git's list, with their names as text. */
const readChanges = (bytes: Buffer): ReadonlyArray<ChangedFile> =>
  readTreeDiff(bytes).map(({ additions, binary, deletions, fromPath, path, status }) => ({
    path: pathText(path),
    ...(fromPath === undefined ? {} : { fromPath: pathText(fromPath) }),
    status,
    binary,
    additions,
    deletions
  }))

/** Counts of a diff. */
export interface DiffSummary {
  readonly files: number
  readonly additions: number
  readonly deletions: number
  /** Files that could not be compared. */
  readonly leftOut?: LeftOut | undefined
}

/** A whole diff, without the hunks. */
export const SnapshotComparison = Schema.Struct({
  /** Trees of the two states; empty if nothing differs. */
  before: Schema.String,
  after: Schema.String,
  files: Schema.Array(ChangedFile),
  /** Paths that one of the states does not have. */
  leftOut: Schema.optionalKey(LeftOut)
})
export type SnapshotComparison = typeof SnapshotComparison.Type

const StoredComparison = Schema.fromJsonString(SnapshotComparison)
const encodeComparison = Schema.encodeSync(StoredComparison)
const decodeComparison = Schema.decodeUnknownSync(StoredComparison)

/** Size of one page's patch. The rest is marked as truncated. */
const PATCH_BYTES = 8_388_608
const HUNK_LINES = 2_000

/** Paths that are listed. */
const LISTED = 100

/** Compares the state at the run's start with the state in the index `end`. `leftOut`: what these two do not have. */
const compareWithStart = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  runId: RunId,
  end: string,
  leftOut: ReadonlyArray<string>
): Effect.fn.Return<SnapshotComparison, GitFailed> {
  const start = shadow.fileOf(runId, "before")
  // Git leaves the file unchanged if nothing differs. Every git process delays the end of a run.
  const missing = missingOf(leftOut)
  if (isSameFile(start, end)) return { before: "", after: "", files: [], ...missing }
  const [before, after] = yield* Effect.all([shadow.treeOf(start), shadow.treeOf(end)], { concurrency: 2 })
  const { bytes } = yield* shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", before, after])
  const changes = readChanges(bytes)
  const tracked = changes.some(({ status }) => status === "added") ? shadow.tracked() : undefined
  const files = changes.map((file): ChangedFile =>
    file.status === "added" && tracked?.has(file.path) === false ? { ...file, status: "untracked" } : file
  )
  return { before, after, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), ...missing }
})

const missingOf = (paths: ReadonlyArray<string>): Pick<SnapshotComparison, "leftOut"> => {
  const all = [...new Set(paths)].toSorted()
  return all.length === 0 ? {} : { leftOut: { count: all.length, paths: all.slice(0, LISTED) } }
}

/** Compares the states of a run, and stores the comparison. */
export const storeComparison = Effect.fn("SnapshotComparison.store")(function* (
  shadow: ShadowRepository,
  runId: RunId,
  leftOut: ReadonlyArray<string>
) {
  const comparison = yield* compareWithStart(shadow, runId, shadow.fileOf(runId, "after"), leftOut)
  writeFileSync(shadow.fileOf(runId, "diff.json"), encodeComparison(comparison), { mode: 0o600 })
  return diffSummary(comparison)
})

/** The comparison that `storeComparison` stored. */
export const storedComparison = (shadow: ShadowRepository, runId: RunId): SnapshotComparison | undefined => {
  const file = shadow.fileOf(runId, "diff.json")
  return existsSync(file) ? decodeComparison(readFileSync(file, "utf8")) : undefined
}

/** Compares with the state in the index `now`. */
export const compareWithNow = Effect.fn("SnapshotComparison.compareWithNow")(function* (
  shadow: ShadowRepository,
  runId: RunId,
  leftOut: ReadonlyArray<string>
) {
  return yield* compareWithStart(shadow, runId, shadow.fileOf(runId, "now"), leftOut)
})

/** These files of a comparison, with their hunks. */
export const hunksOf = Effect.fn("SnapshotComparison.hunks")(function* (
  shadow: ShadowRepository,
  { before, after }: SnapshotComparison,
  files: ReadonlyArray<ChangedFile>
): Effect.fn.Return<ReadonlyArray<FileDiff>, GitFailed> {
  if (files.length === 0) return []
  const paths = files.flatMap(({ fromPath, path }) => (fromPath === undefined ? [path] : [fromPath, path]))
  const hasPatterns = paths.some(isMarkedText)
  const pair = [before, after, "--", ...(hasPatterns ? paths.map(pathPattern) : paths)]
  const inOrder = readChanges(
    (yield* shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", ...pair], { hasPatterns })).bytes
  )
  const { bytes, cut } = yield* shadow.run(
    ["diff-tree", "-r", "-M", "-p", "--no-color", "--no-ext-diff", "--no-textconv", ...pair],
    { maxBytes: PATCH_BYTES, hasPatterns }
  )
  const sections = readPatch(bytes).map((section) => section.map(shownHunk))
  const whole = cut ? sections.length - 1 : sections.length
  const bySection = new Map(inOrder.map(({ path }, at) => [path, at]))
  return files.map((file): FileDiff => {
    const at = bySection.get(file.path)
    const found = at === undefined ? undefined : sections[at]
    const hunks = cutHunks(found ?? [])
    const isCut = at === undefined || at >= whole || hunks.length < (found?.length ?? 0)
    return { ...file, hunks, ...(isCut && !file.binary ? { truncated: true as const } : {}) }
  })
})

/** A pattern of git for a name that is not UTF-8, which no argument can contain. Other names may match as well. */
const pathPattern = (path: string): string =>
  `:(glob)${path.replaceAll(/[*?[\]\\]/g, String.raw`\$&`).replaceAll(/\uFFFD[89A-F][0-9A-F]/g, "?")}`

export const diffSummary = ({ files, leftOut }: SnapshotComparison): DiffSummary => ({
  files: files.length,
  additions: files.reduce((sum, file) => sum + file.additions, 0),
  deletions: files.reduce((sum, file) => sum + file.deletions, 0),
  ...(leftOut === undefined ? {} : { leftOut })
})

const isSameFile = (one: string, other: string): boolean => {
  const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })]
  return a.dev === b.dev && a.ino === b.ino
}

/** The whole hunks that fit into the limit of lines. */
const cutHunks = (hunks: FileDiff["hunks"]): FileDiff["hunks"] => {
  let lines = 0
  const end = hunks.findIndex((hunk) => (lines += hunk.lines.length) > HUNK_LINES)
  return end === -1 ? hunks : hunks.slice(0, end)
}
