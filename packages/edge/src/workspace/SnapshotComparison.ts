/** Comparison of two states of a workspace: the files that differ, and the hunks of some of them. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { ChangedFile, readChanges, readPatch } from "./DiffOutput.ts"
import type { GitFailed } from "./Git.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"

/** Counts of a diff. */
export interface DiffSummary {
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

/** A whole diff, without the hunks. */
export const SnapshotComparison = Schema.Struct({
  /** Trees of the two states; empty if nothing differs. */
  before: Schema.String,
  after: Schema.String,
  files: Schema.Array(ChangedFile)
})
export type SnapshotComparison = typeof SnapshotComparison.Type

const StoredComparison = Schema.fromJsonString(SnapshotComparison)
const encodeComparison = Schema.encodeSync(StoredComparison)
const decodeComparison = Schema.decodeUnknownSync(StoredComparison)

/** Size of one page's patch. The rest is marked as truncated. */
const PATCH_BYTES = 8_388_608
const HUNK_LINES = 2_000

/** Compares the state at the run's start with the state in the index `end`. */
const compareWithStart = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  runId: RunId,
  end: string
): Effect.fn.Return<SnapshotComparison, GitFailed> {
  const start = shadow.fileOf(runId, "before")
  // Git leaves the file unchanged if nothing differs. Every git process delays the end of a run.
  if (isSameFile(start, end)) return { before: "", after: "", files: [] }
  const [before, after] = yield* Effect.all([shadow.treeOf(start), shadow.treeOf(end)], { concurrency: 2 })
  const { bytes } = yield* shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", before, after])
  const changes = readChanges(bytes)
  const tracked = changes.some(({ status }) => status === "added") ? yield* shadow.tracked() : undefined
  const files = changes.map((file): ChangedFile =>
    file.status === "added" && tracked?.has(file.path) === false ? { ...file, status: "untracked" } : file
  )
  return { before, after, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
})

/** Takes the state at the run's end and stores its comparison. */
export const storeComparison = Effect.fn("SnapshotComparison.store")(function* (
  shadow: ShadowRepository,
  runId: RunId
) {
  const end = shadow.fileOf(runId, "after")
  yield* shadow.capture(end)
  const comparison = yield* compareWithStart(shadow, runId, end)
  writeFileSync(shadow.fileOf(runId, "diff.json"), encodeComparison(comparison), { mode: 0o600 })
  return diffSummary(comparison)
})

/** The comparison that `storeComparison` stored. */
export const storedComparison = (shadow: ShadowRepository, runId: RunId): SnapshotComparison | undefined => {
  const file = shadow.fileOf(runId, "diff.json")
  return existsSync(file) ? decodeComparison(readFileSync(file, "utf8")) : undefined
}

/** Compares with the current workspace. */
export const compareWithNow = Effect.fn("SnapshotComparison.compareWithNow")(function* (
  shadow: ShadowRepository,
  runId: RunId
) {
  const now = shadow.fileOf(runId, "now")
  yield* shadow.capture(now)
  return yield* compareWithStart(shadow, runId, now)
})

/** These files of a comparison, with their hunks. */
export const hunksOf = Effect.fn("SnapshotComparison.hunks")(function* (
  shadow: ShadowRepository,
  { before, after }: SnapshotComparison,
  files: ReadonlyArray<ChangedFile>
): Effect.fn.Return<ReadonlyArray<FileDiff>, GitFailed> {
  if (files.length === 0) return []
  const paths = files.flatMap(({ fromPath, path }) => (fromPath === undefined ? [path] : [fromPath, path]))
  const pair = [before, after, "--", ...paths]
  const inOrder = readChanges(
    (yield* shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", ...pair])).bytes
  )
  const { bytes, cut } = yield* shadow.run(
    ["diff-tree", "-r", "-M", "-p", "--no-color", "--no-ext-diff", "--no-textconv", ...pair],
    { maxBytes: PATCH_BYTES }
  )
  const sections = readPatch(bytes.toString("utf8"))
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

export const diffSummary = ({ files }: SnapshotComparison): DiffSummary => ({
  files: files.length,
  additions: files.reduce((sum, file) => sum + file.additions, 0),
  deletions: files.reduce((sum, file) => sum + file.deletions, 0)
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
