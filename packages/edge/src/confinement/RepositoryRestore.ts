/**
 * Puts back a repository that a run in place has changed.
 *
 * Guarantees: nothing is changed unless everything can be put back and the repository is still as the run left it. Git moves refs by
 * compare-and-swap. Nothing is written through a link.
 * Does not: keep away another run in the same workspace that changes folders meanwhile.
 */
import { Conflict } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import { join } from "node:path"
import { isRefName } from "../workspace/RefTable.ts"
import { smallFileBytes } from "../workspace/SmallFile.ts"
import { isRealFolder, realPath, removeEntry, replaceLocked } from "./LockedFile.ts"
import type { NamedChange } from "./RepositoryDifference.ts"
import type { RecordedChange } from "./RepositoryRecord.ts"
import {
  type RepositoryPlace,
  repositoryPlace,
  type RepositoryState,
  repositoryState
} from "./RepositoryState.ts"
import { isObjectId, isSymbolic, PACKED, restoreRefs, restoreSymbolic } from "./RestoredRefs.ts"

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
