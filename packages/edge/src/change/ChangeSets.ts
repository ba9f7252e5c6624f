/**
 * Change sets of runs as they are read: the source, the base, and what is undecided.
 *
 * Guarantees: a set that git cannot compare has unknown changes, and says why.
 */
import type {
  ChangeDecision,
  ChangedFile,
  ChangeHunk,
  ChangeSet,
  ConflictSides
} from "@corral/domain/edge-api/ChangeSet"
import { type ChangesUnknown, NotFound } from "@corral/domain/errors/Failures"
import type { ChangedFileId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Effect } from "effect"
import { findRun } from "../log/Runs.ts"
import type { Store } from "../store/Store.ts"
import { GitFailed } from "../workspace/Git.ts"
import { shownHunk, widenHunks } from "../workspace/PatchHunks.ts"
import { pathBytes } from "../workspace/PathText.ts"
import type { Snapshots } from "../workspace/Snapshots.ts"
import {
  type ComparedFile,
  type Comparison,
  compareStates,
  numberedHunks,
  SecretSearches,
  shownFile,
  wholeHunks
} from "./ChangeComparison.ts"
import { findChecks } from "./CheckRows.ts"
import { type ChangeSetRow, decisionsOf, findSet } from "./ChangeRows.ts"
import type { ChangeSource, ChangeSources, SourceFailure } from "./ChangeSource.ts"
import { type PathChange, planSteps } from "./DecisionPlan.ts"
import { readContent } from "./TreeContents.ts"

export interface SetServices {
  readonly store: Store["Service"]
  readonly sources: ChangeSources["Service"]
  readonly snapshots: Snapshots["Service"]
}

/** A set with its source, its row and its comparison. */
export interface OpenSet {
  readonly source: ChangeSource
  readonly row: ChangeSetRow
  readonly comparison: Comparison
}

/** Decisions, and files of one, that are shown. */
export const SHOWN = 100
const PREFIX_BYTES = 300

/** Position of a file in the list of a set. */
export const filePosition = ({ id, path }: Pick<ChangedFile, "id" | "path">): string =>
  `${pathBytes(path).toString("hex", 0, PREFIX_BYTES)}.${id}`

const filesAfter = (
  files: ReadonlyArray<ComparedFile>,
  position: string | undefined
): ReadonlyArray<ComparedFile> => {
  if (position === undefined) return files
  const [prefix = "", id] = position.split(".")
  const at = files.findIndex((file) => file.id === id)
  if (at !== -1) return files.slice(at + 1)
  // The file was decided meanwhile.
  const last = Buffer.from(prefix, "hex")
  return files.filter(({ change: { path } }) => Buffer.compare(path.subarray(0, PREFIX_BYTES), last) > 0)
}

export class ChangeSets {
  readonly #services: SetServices
  readonly #secrets = new SecretSearches()

  constructor(services: SetServices) {
    this.#services = services
  }

  readonly sourceOf = (runId: RunId): Effect.Effect<ChangeSource, SourceFailure> =>
    Effect.suspend(() => {
      const run = findRun(this.#services.store, runId)
      return run === undefined ? Effect.fail(new NotFound()) : this.#services.sources.of(run)
    })

  /** A failure of git makes the changes unknown. */
  readable<A, E, R>(
    { owner, root }: ChangeSource,
    work: Effect.Effect<A, E | GitFailed, R>
  ): Effect.Effect<A, Exclude<E, GitFailed> | ChangesUnknown, R> {
    return work.pipe(
      Effect.catch((failure): Effect.Effect<never, Exclude<E, GitFailed> | ChangesUnknown> =>
        failure instanceof GitFailed
          ? this.#services.snapshots.unknown(owner, root, failure)
          : // What is no failure of git.
            Effect.fail(failure as Exclude<E, GitFailed>)
      )
    )
  }

  readonly open = Effect.fn("ChangeSets.open")({ self: this }, function* (source: ChangeSource) {
    const { tree: result, leftOut } = yield* source.result
    const stored = findSet(this.#services.store, source.setId)
    const row = stored ?? (yield* this.#firstRow(source))
    const comparison = yield* this.compare(source, row, result, leftOut)
    return { source, row, comparison } satisfies OpenSet
  })

  #firstRow(source: ChangeSource): Effect.Effect<ChangeSetRow, ChangesUnknown> {
    return Effect.map(source.base, ({ leftOut, tree }) => ({
      base: tree,
      conflicts: [],
      numbers: {},
      leftOut
    }))
  }

  compare(
    source: ChangeSource,
    { base, conflicts, leftOut: atStart = [] }: ChangeSetRow,
    result: string,
    leftOut: ReadonlyArray<string>
  ): Effect.Effect<Comparison, ChangesUnknown> {
    const { shadow } = source
    const secrets = this.#secrets
    return this.readable(
      source,
      source.withFiles((view) =>
        compareStates({ shadow, base, result, leftOut: [...atStart, ...leftOut], conflicts, view, secrets })
      )
    )
  }

  readonly summaryOf = Effect.fnUntraced(
    { self: this },
    function* (
      { comparison, source }: OpenSet,
      newest: ReadonlyArray<ChangeDecision>
    ): Effect.fn.Return<ChangeSet> {
      const { files, incomplete, version } = comparison
      const { direct, isolation, runs, setId, workspace } = source
      const { agentId, id, sessionId } = runs.at(-1) ?? runs[0]
      const { groupId } = runs[0]
      const checks = findChecks(this.#services.store, id)
      const sum = (of: (file: ComparedFile) => number) => files.reduce((total, file) => total + of(file), 0)
      return {
        id: setId,
        runId: id,
        ...(sessionId === undefined ? {} : { sessionId }),
        agentId,
        workspace,
        isolation,
        ...(groupId === undefined ? {} : { groupId }),
        // Nothing of a direct set waits for a decision.
        state: files.length > 0 && !direct ? "open" : files.length + newest.length > 0 ? "decided" : "empty",
        version,
        fileCount: files.length,
        additions: sum(({ change }) => change.additions),
        deletions: sum(({ change }) => change.deletions),
        apart: files.filter(({ apart }) => apart.length > 0).length,
        conflicts: files.filter(({ isConflict }) => isConflict).length,
        live: runs.some(({ state }) => !isTerminal(state)),
        direct,
        ignored: yield* source.ignored,
        commits: yield* source.commits,
        ...(incomplete.length === 0 ? {} : { incomplete: incomplete.slice(0, SHOWN) }),
        ...(checks === undefined ? {} : { checks }),
        decisions: newest
      }
    }
  )

  readonly #shownFiles = (
    { comparison, row, source }: OpenSet,
    files: ReadonlyArray<ComparedFile> = comparison.files
  ): Effect.Effect<ReadonlyArray<ChangedFile>, ChangesUnknown> =>
    this.readable(
      source,
      Effect.map(numberedHunks(source.shadow, files, row.numbers), (hunks) =>
        files.map((file) => shownFile(file, hunks.get(file.id)))
      )
    )

  readonly summary = Effect.fn("ChangeSets.summary")({ self: this }, function* (runId: RunId) {
    const set = yield* this.open(yield* this.sourceOf(runId))
    return yield* this.summaryOf(set, this.newest(set.source.setId))
  })

  newest(setId: ChangeSetId): ReadonlyArray<ChangeDecision> {
    return decisionsOf(this.#services.store, setId, SHOWN)
  }

  readonly read = Effect.fn("ChangeSets.read")(
    { self: this },
    function* (runId: RunId, position: string | undefined, limit: number) {
      const open = yield* this.open(yield* this.sourceOf(runId))
      const following = filesAfter(open.comparison.files, position)
      const items = yield* this.#shownFiles(open, following.slice(0, limit))
      const last = items.at(-1)
      return {
        set: yield* this.summaryOf(open, this.newest(open.source.setId)),
        items,
        next: following.length > limit && last !== undefined ? filePosition(last) : undefined
      }
    }
  )

  readonly readFile = Effect.fn("ChangeSets.readFile")(
    { self: this },
    function* (
      runId: RunId,
      fileId: ChangedFileId,
      {
        context = 3,
        limit,
        position = "0"
      }: {
        readonly context?: number | undefined
        readonly position: string | undefined
        readonly limit: number
      }
    ) {
      const open = yield* this.open(yield* this.sourceOf(runId))
      const { comparison, row, source } = open
      const file = comparison.files.find(({ id }) => id === fileId)
      if (file === undefined) return yield* new NotFound({ message: "This file has no undecided changes." })
      const numbered = yield* this.readable(source, numberedHunks(source.shadow, [file], row.numbers))
      const parted = numbered.get(fileId)
      const found = parted ?? (yield* this.readable(source, wholeHunks(source.shadow, file)))
      const hunks = found.map(({ hunk }) => hunk)
      const before = file.change.before
      const wide =
        parted === undefined || context <= 3 || before === undefined
          ? hunks
          : widenHunks(yield* this.readable(source, readContent(source.shadow, before.id)), hunks, context)
      const start = Number(position)
      const items = found.slice(start, start + limit).map(({ hunk, id }, at): ChangeHunk => ({
        id,
        ...shownHunk(wide[start + at] ?? hunk)
      }))
      const sides = file.isConflict ? yield* this.readable(source, this.#sidesNow(source, file)) : undefined
      return {
        file: shownFile(file, parted),
        version: comparison.version,
        items,
        ...(sides === undefined ? {} : { sides }),
        next: start + limit < found.length ? String(start + limit) : undefined
      }
    }
  )

  #sidesNow({ root, shadow }: ChangeSource, { change, id }: ComparedFile) {
    const path: PathChange = { fileId: id, path: change.path, before: change.before, after: change.after }
    return Effect.map(
      planSteps(shadow, root, [path]),
      ({ conflicts }): ConflictSides | undefined => conflicts[0]
    )
  }
}
