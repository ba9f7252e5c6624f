/**
 * Puts back a repository that a run in place has changed.
 *
 * Guarantees: nothing is changed unless everything can be put back and the repository is still as the run left it. Git moves refs by
 * compare-and-swap. Nothing is written through a link.
 * Does not: keep away another run in the same workspace that changes folders meanwhile.
 */
import { Conflict } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import { dirname, join } from "node:path"
import { isRefName, packedRefs, refsOfText } from "../workspace/RunRepository.ts"
import { smallFile, smallFileBytes } from "../workspace/UntrustedFiles.ts"
import {
  type NamedChange,
  type RepositoryPlace,
  repositoryPlace,
  type RepositoryState,
  repositoryState
} from "./RepositoryState.ts"
import type { RecordedChange } from "./RepositoryRecord.ts"
import { GitFailed, git } from "../workspace/Git.ts"
import { hasRealRefs } from "../workspace/WorkspaceRepository.ts"
import { pathBytes } from "../workspace/PathText.ts"
import { linkSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"

// Files of a repository that are replaced as git replaces them. Names are texts of `PathText`.
//
// Guarantees: nothing is written or removed through a link that is there when the path is checked.
// Does not: keep away a program that changes folders meanwhile.

const statOf = (path: string) => lstatSync(pathBytes(path), { throwIfNoEntry: false })

const isRealFolder = (path: string): boolean => statOf(path)?.isDirectory() === true

/** Whether there is something that is no file and no folder, such as a link. */
const isIrregular = (path: string): boolean => {
  const stat = statOf(path)
  return stat !== undefined && !stat.isFile() && !stat.isDirectory()
}

/** Path of a file in the folder `top`, whose folders exist and are no links. */
const realPath = (top: string, name: string): string => {
  let at = top
  for (const part of dirname(name).split("/")) {
    if (part === ".") continue
    at = join(at, part)
    if (statOf(at) === undefined) mkdirSync(pathBytes(at))
    else if (!isRealFolder(at)) throw new Error(`${part} is not a folder`)
  }
  return join(top, name)
}

/** Removes a file, a link, or a folder with everything in it. */
const removeEntry = (path: string): void => rmSync(pathBytes(path), { recursive: true, force: true })

/** A lock of git's kind keeps other programs away. */
const replaceLocked = (path: string, content: Buffer | string): void => {
  const [temporary, lock] = [pathBytes(`${path}.corral`), pathBytes(`${path}.lock`)]
  rmSync(temporary, { force: true })
  writeFileSync(temporary, content, { mode: 0o644, flag: "wx" })
  try {
    linkSync(temporary, lock)
    renameSync(lock, pathBytes(path))
  } finally {
    rmSync(temporary, { force: true })
  }
}

// Refs of a repository that are put back.
//
// Guarantees: git moves them by compare-and-swap, and receives only names that it takes for refs. What has the place of a ref and is none is removed
// as a file. No reflog is written through a link.

/** Folders that a run may have replaced by a link. */
const FOLDERS = new Set(["refs", "logs", "logs/refs"])
const TIME_LIMIT_MS = 60_000
const MAX_PACKED = 67_108_864
const PACKED = "packed-refs"

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
const SYMBOLIC = /^ref: (refs\/.+)$/

/** Whether a value is the id of an object. */
const isObjectId = (value: string): boolean => ID.test(value)

/** Whether a value names another ref. */
const isSymbolic = (value: string): boolean => isRefName(SYMBOLIC.exec(value)?.[1] ?? "")

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
const restoreRefs = (
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
const restoreSymbolic = (common: string, { refs }: RecordedChange): void => {
  for (const [name, { from }] of refs)
    if (from !== undefined && isSymbolic(from)) replaceLocked(realPath(common, name), `${from}\n`)
}

/** What was there before. */
export interface EarlierContents {
  /** Content of a file with this value; `undefined` if it was not kept. */
  readonly content: (value: string) => Buffer | undefined
  readonly index: Buffer | undefined
}

const MAX_NAMED = 5
const MAX_STASHES = 67_108_864
const MISSING = "missing"
/** The list of stashes. */
const STASHES = "logs/refs/stash"

const isRestorable = (value: string): boolean => isObjectId(value) || isSymbolic(value)

/** Names that cannot be put back. */
const unrestorable = (
  { files, head, index, refs }: RecordedChange,
  contents: EarlierContents
): ReadonlyArray<string> => [
  ...refs.flatMap(([name, { from }]) =>
    from === undefined || (isRefName(name) && isRestorable(from)) ? [] : [name]
  ),
  ...files.flatMap(([name, { from }]) =>
    from === undefined || name === PACKED || contents.content(from) !== undefined ? [] : [name]
  ),
  ...(head === undefined || isRestorable(head.from) ? [] : ["HEAD"]),
  ...(index === undefined || index.from === MISSING || contents.index !== undefined ? [] : ["index"])
]

const isAsLeft = ({ files, head, index, refs }: RecordedChange, now: RepositoryState): boolean =>
  refs.every(([name, { to }]) => now.refs.get(name) === to) &&
  files.every(([name, { to }]) => now.files.get(name) === to) &&
  (head === undefined || now.head === head.to) &&
  (index === undefined || now.index === index.to)

/** New tables of refs are named by their list, so the list is replaced after they are there, and before others are removed. */
const stepOf = ([name, { from }]: NamedChange): number =>
  from === undefined ? 2 : name.endsWith("tables.list") ? 1 : 0

const restoreFiles = (
  { common, folder }: RepositoryPlace,
  { files, head, index }: RecordedChange,
  contents: EarlierContents
): void => {
  for (const [name, { from }] of files.toSorted((a, b) => stepOf(a) - stepOf(b))) {
    if (name === PACKED) continue
    const path = realPath(common, name)
    const content = from === undefined ? undefined : contents.content(from)
    if (content === undefined || isRealFolder(path)) removeEntry(path)
    if (content !== undefined) replaceLocked(path, content)
  }
  if (head !== undefined) replaceLocked(join(folder, "HEAD"), `${head.from}\n`)
  if (index === undefined) return
  const path = join(folder, "index")
  if (contents.index === undefined) removeEntry(path)
  else replaceLocked(path, contents.index)
}

/** The list of stashes if the run has not changed it: git adds a line to it when it moves its ref. */
const unchangedStashes = (common: string, { files }: RecordedChange): Buffer | undefined =>
  files.some(([name]) => name === STASHES) ? undefined : smallFileBytes(join(common, STASHES), MAX_STASHES)

const conflict = (message: string, reason: string): Conflict => new Conflict({ message, details: { reason } })

export const restoreRepository = Effect.fnUntraced(function* (
  program: string,
  change: RecordedChange,
  contents: EarlierContents
): Effect.fn.Return<void, Conflict> {
  if (change.isMade)
    return yield* conflict(
      "The run made this repository. Remove its folder .git if you do not need the commits in it.",
      "repository_made"
    )
  const place = repositoryPlace(change.root)
  if (place === undefined || !isAsLeft(change, repositoryState(change.root)))
    return yield* conflict(
      "The repository has changed since the run. Nothing was put back.",
      "repository_changed"
    )
  const left = unrestorable(change, contents)
  if (left.length > 0)
    return yield* conflict(
      `Nothing was put back, because the earlier content is not known: ${left.slice(0, MAX_NAMED).join(", ")}.`,
      "not_restored"
    )
  const stashes = unchangedStashes(place.common, change)
  yield* restoreRefs(program, place, change).pipe(
    Effect.andThen(
      Effect.try({
        try: () => {
          if (stashes !== undefined) replaceLocked(realPath(place.common, STASHES), stashes)
          restoreSymbolic(place.common, change)
          restoreFiles(place, change, contents)
        },
        catch: String
      })
    ),
    Effect.catch((cause) =>
      Effect.andThen(
        Effect.logWarning("failed to restore a repository", { cause: String(cause) }),
        Effect.fail(
          conflict("Git refused to put back the repository. The commits may be gone.", "not_restored")
        )
      )
    )
  )
})
