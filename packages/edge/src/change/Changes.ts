/**
 * Change sets of runs, and decisions about them: acceptance, rejection and undo.
 *
 * Guarantees: a decision changes all of its files or none, and never replaces an edit of a person. It is on disk before its caller receives it.
 * Nothing is decided while a run of the set is live.
 * Does not: check who decides.
 */
import type {
  AcceptChanges,
  ChangedFile,
  ChangedFileContent,
  ChangeSet,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { findRun } from "../log/Runs.ts"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { findRow } from "../workspace/WorktreeRows.ts"
import { changeSetIdOf, setOfRun } from "./ChangeIds.ts"
import { endedWithoutPush, queueSet } from "./ChangePushes.ts"
import { forgetSet } from "./ChangeRows.ts"
import { ChangeSources, type SourceFailure } from "./ChangeSource.ts"
import { DecisionCommit } from "./DecisionCommit.ts"
import { ChangeDecisions, type Decide, type DecisionServices } from "./ChangeDecisions.ts"
import { ChangeSets } from "./ChangeSets.ts"
import { ChangeFileOperations } from "./FolderFiles.ts"

export class Changes extends Context.Service<
  Changes,
  {
    /** The set of a run with up to `limit` files after a position. `next`: the position of the last one, if more follow. */
    readonly read: (
      runId: RunId,
      position: string | undefined,
      limit: number
    ) => Effect.Effect<
      {
        readonly set: ChangeSet
        readonly items: ReadonlyArray<ChangedFile>
        readonly next: string | undefined
      },
      SourceFailure
    >
    /** A file with up to `limit` undecided hunks after a position. `context`: lines on each side, three by default. */
    readonly readFile: (
      runId: RunId,
      fileId: ChangedFileId,
      options: {
        readonly context?: number | undefined
        readonly position: string | undefined
        readonly limit: number
      }
    ) => Effect.Effect<
      Omit<ChangedFileContent, "nextCursor" | "requestId"> & { readonly next: string | undefined },
      SourceFailure
    >
    /** The set without its files. */
    readonly summary: (runId: RunId) => Effect.Effect<ChangeSet, SourceFailure>
    /** The rows of `keep` are committed together with the decision. */
    readonly accept: Decide<AcceptChanges>
    readonly reject: Decide<RejectChanges>
    readonly undo: Decide<UndoChanges>
    /** Commits rows about the set of a run, which enters the queue for Hubs. */
    readonly record: (run: Run, rows: ReadonlyArray<Write>) => Effect.Effect<void, StoreFailed>
    /** Calls `listener` after a set has entered the queue for Hubs. Returns what ends it. */
    readonly follow: (listener: (setId: ChangeSetId) => void) => () => void
    /** Deletes what is stored of the set that the run owns, unless its worktree exists. */
    readonly forget: (owner: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/Changes") {
  static readonly layer = Layer.effect(
    Changes,
    Effect.gen(function* () {
      const store = yield* Store
      const service = new ChangeService({
        store,
        sources: yield* ChangeSources,
        snapshots: yield* Snapshots,
        clock: yield* Clock.Clock,
        commit: new DecisionCommit(store, yield* ChangeFileOperations)
      })
      yield* service.recover()
      yield* service.queueEnds(yield* EdgeEventLog)
      return service
    })
  )
}
class ChangeService implements Context.Service.Shape<typeof Changes> {
  readonly #services: DecisionServices
  readonly #sets: ChangeSets
  readonly #decisions: ChangeDecisions
  readonly #listeners = new Set<(setId: ChangeSetId) => void>()

  constructor(services: DecisionServices) {
    this.#services = services
    this.#sets = new ChangeSets(services)
    this.#decisions = new ChangeDecisions(services, this.#sets, (setId) => this.#announce(setId))
  }

  readonly read: Context.Service.Shape<typeof Changes>["read"] = (...request) => this.#sets.read(...request)
  readonly readFile: Context.Service.Shape<typeof Changes>["readFile"] = (...request) =>
    this.#sets.readFile(...request)
  readonly summary: Context.Service.Shape<typeof Changes>["summary"] = (runId) => this.#sets.summary(runId)
  readonly accept: Decide<AcceptChanges> = (...request) => this.#decisions.accept(...request)
  readonly reject: Decide<RejectChanges> = (...request) => this.#decisions.reject(...request)
  readonly undo: Decide<UndoChanges> = (...request) => this.#decisions.undo(...request)

  /** Reverses decisions that the last Edge did not finish. Call at start. */
  recover(): Effect.Effect<void> {
    return this.#decisions.recover()
  }

  readonly follow = (listener: (setId: ChangeSetId) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  readonly record = (run: Run, rows: ReadonlyArray<Write>): Effect.Effect<void, StoreFailed> =>
    Effect.suspend(() => {
      const setId = setOfRun(run)
      return Effect.andThen(
        this.#services.store.commit([...rows, queueSet(setId, run.id)]),
        Effect.sync(() => this.#announce(setId))
      )
    })

  #announce(setId: ChangeSetId): void {
    for (const listener of this.#listeners) listener(setId)
  }

  /** Puts the sets of ended runs into the queue for Hubs. */
  readonly queueEnds = Effect.fnUntraced(
    { self: this },
    function* (log: EdgeEventLog["Service"]): Effect.fn.Return<void, never, Scope.Scope> {
      const { store } = this.#services
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const queue = (setId: ChangeSetId, runId: RunId) =>
        Effect.andThen(
          store.commit([queueSet(setId, runId)]),
          Effect.sync(() => this.#announce(setId))
        ).pipe(
          Effect.catch(({ message }) =>
            Effect.logWarning("failed to queue changes", { runId, cause: message })
          )
        )
      yield* Effect.forEach(endedWithoutPush(store), ({ runId, setId }) => queue(setId, runId), {
        discard: true
      })
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          log.follow(undefined, {
            isObserver: true,
            receive: ({ runId, terminal }) => {
              const isOfHub =
                terminal && store.get("SELECT 1 FROM hub_runs WHERE run_id = ?", runId) !== undefined
              const run = isOfHub ? findRun(store, runId) : undefined
              if (run !== undefined) fork(queue(setOfRun(run), runId))
            }
          })
        ),
        (unfollow) => Effect.sync(unfollow)
      )
    }
  )

  readonly forget = (owner: RunId): Effect.Effect<void, StoreFailed> =>
    Effect.suspend(() => {
      const { snapshots, store } = this.#services
      const worktree = findRow(store, owner)
      if (worktree !== undefined && worktree.state !== "removed") return Effect.void
      const setId = changeSetIdOf(owner)
      return Effect.andThen(store.commit(forgetSet(setId)), snapshots.forget(setId))
    })
}
