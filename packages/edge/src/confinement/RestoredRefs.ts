/**
 * Refs of a repository that are put back.
 *
 * Guarantees: git moves them by compare-and-swap, and receives only names that it takes for refs. What has the place of a ref and is none is removed
 * as a file. No reflog is written through a link.
 */
import { Effect } from "effect"
import { join } from "node:path"
import { git, GitFailed } from "../workspace/Git.ts"
import { hasRealRefs } from "../workspace/GitFolder.ts"
import { pathBytes } from "../workspace/PathText.ts"
import { isRefName, packedRefs, refsOfText } from "../workspace/RefTable.ts"
import { smallFile } from "../workspace/SmallFile.ts"
import { isIrregular, isRealFolder, realPath, removeEntry, replaceLocked } from "./LockedFile.ts"
import type { NamedChange } from "./RepositoryDifference.ts"
import type { RecordedChange } from "./RepositoryRecord.ts"
import { type RepositoryPlace, repositoryState } from "./RepositoryState.ts"

/** Folders that a run may have replaced by a link. */
const FOLDERS = new Set(["refs", "logs", "logs/refs"])
const TIME_LIMIT_MS = 60_000
const MAX_PACKED = 67_108_864
export const PACKED = "packed-refs"

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
const SYMBOLIC = /^ref: (refs\/.+)$/

/** Whether a value is the id of an object. */
export const isObjectId = (value: string): boolean => ID.test(value)

/** Whether a value names another ref. */
export const isSymbolic = (value: string): boolean => isRefName(SYMBOLIC.exec(value)?.[1] ?? "")

/** A line of `git update-ref --stdin`; nothing where the value is right, or no object. */
const updateOf = ([name, { from }]: NamedChange, current: string | undefined): string => {
  if (!isRefName(name)) return ""
  const target = from !== undefined && ID.test(from) ? from : undefined
  if (target === current) return ""
  if (target === undefined) return `delete ${name} ${current}\n`
  return current === undefined ? `create ${name} ${target}\n` : `update ${name} ${target} ${current}\n`
}

/** Removes links on the way to the reflog of a ref, because git adds a line to a reflog that exists. */
const clearReflog = (common: string, name: string): void => {
  let at = join(common, "logs")
  for (const part of name.split("/")) {
    if (!isRealFolder(at)) break
    at = join(at, part)
  }
  if (isIrregular(at)) removeEntry(at)
}

/** Removes what has the name of a ref and is none, and brings `packed-refs` into git's form, without which git reads no refs. */
const clearRefs = (common: string, { files, refs }: RecordedChange): void => {
  for (const [name, { to }] of [...files.filter(([name]) => FOLDERS.has(name)), ...refs])
    if (to !== undefined && !(ID.test(to) && isRefName(name))) removeEntry(realPath(common, name))
  for (const [name] of refs) clearReflog(common, name)
  if (!hasRealRefs(common)) throw new Error("a folder of refs is a link")
  if (!files.some(([name]) => name === PACKED)) return
  const path = join(common, PACKED)
  const refsNow = [...refsOfText(smallFile(path, MAX_PACKED) ?? "")]
  replaceLocked(path, packedRefs(new Map(refsNow.toSorted(([a], [b]) => (a < b ? -1 : 1)))))
}

/** Updates for the refs as git reads them now. */
const updatesOf = (common: string, change: RecordedChange): string => {
  if (change.refs.length === 0 && change.files.length === 0) return ""
  clearRefs(common, change)
  const { refs } = repositoryState(change.root)
  return change.refs.map((ref) => updateOf(ref, refs.get(ref[0]))).join("")
}

const updateRefs = (
  program: string,
  { common, folder }: RepositoryPlace,
  updates: string
): Effect.Effect<unknown, GitFailed> =>
  git({
    program,
    cwd: common,
    args: ["-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "--stdin"],
    // A run may have made a `commondir`, which names another repository.
    env: { GIT_DIR: folder, GIT_COMMON_DIR: common },
    stdin: pathBytes(updates),
    timeoutMs: TIME_LIMIT_MS
  })

/** Puts back the refs that are objects. */
export const restoreRefs = (
  program: string,
  place: RepositoryPlace,
  change: RecordedChange
): Effect.Effect<void, GitFailed> =>
  Effect.try({
    try: () => updatesOf(place.common, change),
    catch: (cause) => new GitFailed({ message: String(cause) })
  }).pipe(
    Effect.flatMap((updates) => (updates === "" ? Effect.void : updateRefs(program, place, updates))),
    Effect.asVoid
  )

/** Puts back the refs that name other refs. */
export const restoreSymbolic = (common: string, { refs }: RecordedChange): void => {
  for (const [name, { from }] of refs)
    if (from !== undefined && isSymbolic(from)) replaceLocked(realPath(common, name), `${from}\n`)
}
