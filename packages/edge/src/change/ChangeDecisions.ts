/**
 * Decisions about change sets: what a request means for the files and for the base, and the record of it.
 *
 * Guarantees: a decision changes all of its files or none, and never replaces an edit of a person. It is on disk before its caller receives it.
 * Nothing is decided while a run of the set is live.
 */
import type {
  AcceptChanges,
  ChangeDecision,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import {
  type ChangesOutdated,
  type ChangesUnknown,
  type Conflict,
  MergeConflict,
  NotFound,
  Overloaded,
  PermissionDenied,
  type RunActive,
  type SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import type { ChangeDecisionId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { type Clock, Effect } from "effect"
import type { ResultRows } from "../log/EdgeIdempotency.ts"
import { findRun } from "../log/Runs.ts"
import { StoreFailed, type Write } from "../store/Store.ts"
import { GitFailed } from "../workspace/Git.ts"
import { patchHashOf } from "./ChangeIds.ts"
import { queueSet } from "./ChangePushes.ts"
import {
  type ChangeSetRow,
  type DecidedParts,
  insertDecision,
  type JournalEntry,
  putSet,
  updateDecision
} from "./ChangeRows.ts"
import type { ChangeSource, SourceFailure } from "./ChangeSource.ts"
import type { CommitFailure, DecisionCommit } from "./DecisionCommit.ts"
import { nextEntry, type PathChange, planSteps, sidesOf } from "./DecisionPlan.ts"
import { isSameEntry } from "./TransactionPlan.ts"
import {
  type PreparationFailure,
  prepareAcceptance,
  type PreparedDecision,
  prepareRejection,
  prepareUndo
} from "./PreparedDecision.ts"
import { type ChangeSets, type OpenSet, type SetServices, SHOWN } from "./ChangeSets.ts"
import { entriesAt, readContent, treeWith } from "./TreeContents.ts"

/** Who decides, and where. */
export interface ChangeDecider {
  readonly by: string
  readonly origin: DecisionOrigin
}

export type ChangeDecisionFailure =
  | SourceFailure
  | RunActive
  | ChangesOutdated
  | MergeConflict
  | PermissionDenied
  | Conflict
  | Overloaded
  | SchemaValidationFailed

export type Decide<Request> = (
  runId: RunId,
  request: Request,
  decider: ChangeDecider,
  keep?: ResultRows<DecidedChanges>
) => Effect.Effect<DecidedChanges, ChangeDecisionFailure>
export interface DecisionServices extends SetServices {
  readonly clock: Clock.Clock
  readonly commit: DecisionCommit
}

/** Plans of one decision: a program that writes all the time blocks it. */
const ATTEMPTS = 5

export class ChangeDecisions {
  readonly #services: DecisionServices
  readonly #sets: ChangeSets
  /** Called after a decision. */
  readonly #decided: (setId: ChangeSetId) => void

  constructor(services: DecisionServices, sets: ChangeSets, decided: (setId: ChangeSetId) => void) {
    this.#services = services
    this.#sets = sets
    this.#decided = decided
  }

  readonly accept: Decide<AcceptChanges> = (runId, request, decider, keep) =>
    this.#decide(runId, decider, keep, (open) => prepareAcceptance(open, request))

  readonly reject: Decide<RejectChanges> = (runId, request, decider, keep) =>
    this.#decide(runId, decider, keep, (open) => prepareRejection(open, request))

  readonly undo: Decide<UndoChanges> = (runId, request, decider, keep) =>
    this.#decide(runId, decider, keep, (open) => prepareUndo(this.#services.store, open, request))

  #decide(
    runId: RunId,
    decider: ChangeDecider,
    keep: ResultRows<DecidedChanges> = () => [],
    prepare: (open: OpenSet) => Effect.Effect<PreparedDecision, PreparationFailure>
  ): Effect.Effect<DecidedChanges, ChangeDecisionFailure> {
    const { commit } = this.#services
    return Effect.gen({ self: this }, function* () {
      const { root } = yield* this.#sets.sourceOf(runId)
      return yield* commit.alone(
        root,
        Effect.gen({ self: this }, function* () {
          const found = yield* this.#sets.sourceOf(runId)
          yield* found.reserve
          yield* this.#finishEarlier(found)
          // A turn may have ended before the files were reserved.
          const source = yield* this.#sets.sourceOf(runId)
          const work = Effect.gen({ self: this }, function* () {
            const open = yield* this.#sets.open(source)
            return yield* this.#carryOut(open, yield* prepare(open), decider, keep)
          })
          return yield* work.pipe(
            Effect.catch((failure): Effect.Effect<never, ChangeDecisionFailure> =>
              failure instanceof GitFailed || failure instanceof StoreFailed
                ? this.#refused(source, failure)
                : Effect.fail(failure)
            )
          )
        }).pipe(Effect.scoped)
      )
    })
  }

  #refused(
    { owner, root }: ChangeSource,
    failure: CommitFailure
  ): Effect.Effect<never, Overloaded | PermissionDenied | ChangesUnknown> {
    if (failure instanceof StoreFailed || /\b(ENOSPC|EDQUOT|EMFILE|ENFILE)\b/.test(failure.message))
      return Effect.fail(new Overloaded({ message: "The Edge can't write now: its disk may be full." }))
    return /\b(EACCES|EPERM|EROFS)\b/.test(failure.message)
      ? Effect.fail(
          new PermissionDenied({
            message: "The Edge may not write these files.",
            details: { reason: "files" }
          })
        )
      : this.#services.snapshots.unknown(owner, root, failure)
  }

  /** Plans and does a decision, again if another program changes the files meanwhile. */
  readonly #carryOut = Effect.fn("ChangeDecisions.carryOut")(
    { self: this },
    function* (
      open: OpenSet,
      prepared: PreparedDecision,
      decider: ChangeDecider,
      keep: ResultRows<DecidedChanges>
    ): Effect.fn.Return<DecidedChanges, MergeConflict | ChangesUnknown | CommitFailure> {
      const { source } = open
      const { clock, commit } = this.#services
      const { shadow } = source
      const base = yield* this.#newBase(open, prepared.base)
      const id = mint<ChangeDecisionId>("chd", clock.currentTimeMillisUnsafe())
      const inFolder = (folder: string) =>
        Effect.gen({ self: this }, function* () {
          for (let attempt = 0; ; attempt++) {
            const { conflicts, paths, steps } = yield* planSteps(shadow, folder, prepared.paths)
            if (conflicts.length > 0) return yield* new MergeConflict({ details: { files: conflicts } })
            const { runs, setId } = source
            const runId = (runs.at(-1) ?? runs[0]).id
            const target = { id, setId, runId, place: prepared.place, root: source.root, folder, shadow }
            const record = this.#record(open, prepared, { id, decider, paths, keep, base })
            const done = yield* commit.carryOut(target, steps, record)
            if (!("path" in done)) return done
            if (attempt + 1 < ATTEMPTS) continue
            const change = prepared.paths.find(({ path }) => path.equals(done.path)) ?? prepared.paths[0]
            const sides = change === undefined ? [] : [yield* sidesOf(shadow, change, undefined)]
            return yield* new MergeConflict({ details: { files: sides } })
          }
        })
      const decided = yield* prepared.place === "workspace"
        ? inFolder(source.root)
        : source.withView(inFolder)
      this.#decided(source.setId)
      return decided
    }
  )

  /** The base with a decision's changes of it. */
  readonly #newBase = Effect.fnUntraced(
    { self: this },
    function* (
      { row, source: { shadow } }: OpenSet,
      changes: PreparedDecision["base"]
    ): Effect.fn.Return<string, MergeConflict | GitFailed> {
      const moved = changes.filter(({ after, before }) => !isSameEntry(before, after))
      if (moved.length === 0) return row.base
      const now = yield* entriesAt(
        shadow,
        row.base,
        moved.map(({ path }) => path)
      )
      const entries: Array<{ path: Buffer; entry: PathChange["after"] }> = []
      for (const change of moved) {
        const current = now.get(change.path.toString("latin1"))
        const read = current === undefined ? Effect.undefined : readContent(shadow, current.id)
        const first = yield* nextEntry(shadow, change, current, read)
        const { instead } = change
        const entry =
          first === "conflict" && instead !== undefined
            ? yield* nextEntry(shadow, instead, current, read)
            : first
        if (entry === "conflict")
          return yield* new MergeConflict({
            details: { files: [yield* sidesOf(shadow, change, yield* read)] }
          })
        entries.push({ path: change.path, entry })
      }
      return yield* treeWith(shadow, row.base, entries)
    }
  )

  /** The rows and the answer of a decision whose files are changed. */
  readonly #record = Effect.fnUntraced(
    { self: this },
    function* (
      { row, source, comparison: before }: OpenSet,
      prepared: PreparedDecision,
      { base, decider, id, keep, paths }: RecordInput
    ): Effect.fn.Return<{ rows: ReadonlyArray<Write>; result: DecidedChanges }, ChangesUnknown> {
      const { clock } = this.#services
      const { edited = 0, rejected = [], reverses } = prepared
      const decision: ChangeDecision = {
        id,
        changeSetId: source.setId,
        runId: (source.runs.at(-1) ?? source.runs[0]).id,
        kind: prepared.kind,
        by: decider.by,
        origin: decider.origin,
        files: prepared.files.slice(0, SHOWN).map(({ edited, hunks, id, path }) => ({
          id,
          path,
          hunks,
          ...(edited === undefined ? {} : { edited })
        })),
        fileCount: prepared.files.length,
        additions: prepared.files.reduce((sum, file) => sum + file.additions, 0),
        deletions: prepared.files.reduce((sum, file) => sum + file.deletions, 0),
        ...(edited === 0 ? {} : { edited }),
        ...(rejected.length === 0 ? {} : { rejected }),
        patchHash: patchHashOf(prepared.paths),
        ...(prepared.comment === undefined ? {} : { comment: prepared.comment }),
        ...(reverses === undefined ? {} : { reverses: reverses.id }),
        at: new Date(clock.currentTimeMillisUnsafe()).toISOString()
      }
      const reversed =
        reverses === undefined || prepared.isComplete !== true ? undefined : { ...reverses, reversedBy: id }
      const nextRow: ChangeSetRow = {
        ...row,
        base,
        conflicts: prepared.kind === "undo" ? row.conflicts : withoutDecided(row.conflicts, prepared),
        numbers: nextNumbers(row.numbers, prepared)
      }
      const isLayerChanged = prepared.place === "layer"
      const result = isLayerChanged ? yield* source.result : { tree: before.result, leftOut: [] }
      const comparison = yield* this.#sets.compare(source, nextRow, result.tree, [
        ...(isLayerChanged ? result.leftOut : before.incomplete)
      ])
      const newest = [decision, ...this.#sets.newest(source.setId)]
        .map((each) => (each.id === reversed?.id ? reversed : each))
        .slice(0, SHOWN)
      const set = yield* this.#sets.summaryOf({ source, row: nextRow, comparison }, newest)
      const answer: DecidedChanges = { decision, set }
      const baseOf = new Map(prepared.base.map((change) => [change.path.toString("hex"), change]))
      const parts: DecidedParts = {
        place: prepared.place,
        paths: paths.map(({ after, before, fileId, path }) => {
          const moved = baseOf.get(path.toString("hex"))
          return {
            fileId,
            path: path.toString("hex"),
            before,
            after,
            baseBefore: moved?.before,
            baseAfter: moved?.after
          }
        }),
        files: prepared.files
      }
      return {
        rows: [
          insertDecision(decision, parts),
          ...(reversed === undefined ? [] : [updateDecision(reversed)]),
          putSet(source.setId, nextRow),
          queueSet(source.setId, decision.runId),
          ...keep(answer)
        ],
        result: answer
      }
    }
  )

  readonly #recoverEntry = Effect.fnUntraced({ self: this }, function* (entry: JournalEntry) {
    const { commit, snapshots, store } = this.#services
    const run = findRun(store, entry.runId)
    if (entry.place === "layer") {
      const found = run === undefined ? Effect.fail(new NotFound()) : this.#services.sources.of(run)
      const source = yield* Effect.catchTag(found, "NotFound", () => Effect.undefined)
      // Removed meanwhile, with what the decision left in it.
      if (source === undefined) return yield* commit.forget(entry)
      return yield* source.withView((folder) => commit.recover(entry, folder, source.shadow))
    }
    // The contents of merges are read from any repository of the set.
    const shadow =
      run === undefined
        ? yield* snapshots.repository(entry.root)
        : yield* this.#services.sources.of(run).pipe(
            Effect.map((source) => source.shadow),
            Effect.catch(() => snapshots.repository(entry.root))
          )
    return yield* commit.recover(entry, entry.root, shadow)
  })

  /** Reverses decisions that the last Edge did not finish. Call at start. */
  recover(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.#services.commit.unfinished(),
        (entry) =>
          this.#recoverEntry(entry).pipe(
            Effect.catch((failure) =>
              Effect.logError("failed to reverse an unfinished decision about changes", {
                decisionId: entry.plan.id,
                cause: failure.message
              })
            )
          ),
        { discard: true }
      )
    )
  }

  readonly #finishEarlier = Effect.fnUntraced({ self: this }, function* ({ root }: ChangeSource) {
    for (const entry of this.#services.commit.unfinished(root))
      yield* this.#recoverEntry(entry).pipe(
        Effect.mapError(
          () => new Overloaded({ message: "An earlier decision could not be finished. Restart the Edge." })
        )
      )
  })
}

interface RecordInput {
  readonly id: ChangeDecisionId
  readonly decider: ChangeDecider
  readonly paths: ReadonlyArray<PathChange>
  readonly keep: ResultRows<DecidedChanges>
  readonly base: string
}

/** Texts of hunks whose numbers are remembered. */
const MAX_TEXTS = 1_000

const nextNumbers = (
  numbers: ChangeSetRow["numbers"],
  { files, kind }: PreparedDecision
): ChangeSetRow["numbers"] => {
  const next = new Map(Object.entries(numbers))
  for (const [text, number] of files.flatMap((file) => file.numbers)) {
    const others = (next.get(text) ?? []).filter((each) => each !== number)
    next.set(text, kind === "undo" ? others : [...others, number])
  }
  return Object.fromEntries([...next].filter(([, left]) => left.length > 0).slice(-MAX_TEXTS))
}

const withoutDecided = (
  conflicts: ReadonlyArray<string>,
  { files }: PreparedDecision
): ReadonlyArray<string> => {
  const decided = new Set(files.map(({ path }) => path))
  return conflicts.filter((path) => !decided.has(path))
}
