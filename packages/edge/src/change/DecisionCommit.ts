/**
 * Carries out a decision: changes its files, and records it.
 *
 * Guarantees: the files and the record change together, also if the Edge ends in between: what has no record is reversed at the next start. Decisions
 * in one workspace happen one after the other.
 */
import type { ChangeDecisionId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Semaphore } from "effect"
import { type FileOperations, FolderFiles } from "./FolderFiles.ts"
import type { Store, StoreFailed, Write } from "../store/Store.ts"
import { attemptFiles, GitFailed } from "../workspace/Git.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import {
  type DecisionPlace,
  dropJournal,
  findDecision,
  type JournalEntry,
  journalEntries,
  putJournal
} from "./ChangeRows.ts"
import { FileTransaction } from "./FileTransaction.ts"
import { type FileStep, planTransaction, readPlan, recordPlan } from "./TransactionPlan.ts"
import { mergeThreeWays } from "./ThreeWay.ts"
import { eachContent, readContent } from "./TreeContents.ts"

export interface DecisionTarget {
  readonly id: ChangeDecisionId
  readonly setId: ChangeSetId
  /** A run of the set. */
  readonly runId: RunId
  readonly place: DecisionPlace
  /** Real path of the workspace. */
  readonly root: string
  /** Folder in which the files are. */
  readonly folder: string
  readonly shadow: ShadowRepository
}

export type CommitFailure = GitFailed | StoreFailed

/** What another program changed meanwhile: plan again. */
export interface Overtaken {
  readonly path: Buffer
}

const contentsOf = (shadow: ShadowRepository) => ({
  read: (id: string) => readContent(shadow, id),
  each: (ids: ReadonlyArray<string>, use: (id: string, content: Buffer) => Effect.Effect<void, GitFailed>) =>
    eachContent(shadow, ids, use),
  merge: (base: Buffer, ours: Buffer, theirs: Buffer) =>
    Effect.map(mergeThreeWays(shadow, { base, ours, theirs }), (merged) =>
      merged === undefined || merged.hasConflict ? undefined : merged.content
    )
})

export class DecisionCommit {
  readonly #store: Store["Service"]
  readonly #operations: FileOperations
  readonly #turns = new Map<string, Semaphore.Semaphore>()

  constructor(store: Store["Service"], operations: FileOperations) {
    this.#store = store
    this.#operations = operations
  }

  /** Runs a decision when no other one is in progress in the workspace. */
  alone<A, E, R>(root: string, decision: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const turn = this.#turns.get(root) ?? Semaphore.makeUnsafe(1)
      this.#turns.set(root, turn)
      return turn.withPermit(decision)
    })
  }

  /**
   * Does the steps and commits the rows of `record`, which is called when the steps are done. Succeeds with the result of `record`, or with the path
   * that another program changed meanwhile; then nothing has changed.
   */
  carryOut<A, E>(
    target: DecisionTarget,
    steps: ReadonlyArray<FileStep>,
    record: Effect.Effect<{ readonly rows: ReadonlyArray<Write>; readonly result: A }, E>
  ): Effect.Effect<A | Overtaken, E | CommitFailure> {
    return Effect.uninterruptible(
      steps.length === 0
        ? Effect.flatMap(record, ({ result, rows }) => Effect.as(this.#store.commit(rows), result))
        : this.#withFiles(target, steps, record)
    )
  }

  readonly #withFiles = <A, E>(
    target: DecisionTarget,
    steps: ReadonlyArray<FileStep>,
    record: Effect.Effect<{ readonly rows: ReadonlyArray<Write>; readonly result: A }, E>
  ): Effect.Effect<A | Overtaken, E | CommitFailure> =>
    Effect.gen({ self: this }, function* () {
      const { folder, id, place, root, runId, setId, shadow } = target
      const plan = yield* attemptFiles(() => planTransaction(id, new FolderFiles(folder), steps))
      if ("blocked" in plan) return { path: plan.blocked }
      const ready: JournalEntry = { setId, runId, state: "ready", place, root, plan: recordPlan(plan) }
      const entry = (state: JournalEntry["state"]): Write => putJournal(id, { ...ready, state })
      const transaction = new FileTransaction(plan, folder, this.#operations, contentsOf(shadow))
      const undo = this.#undo(ready, transaction)
      yield* this.#store.commit([entry("staging")])
      yield* transaction.stage.pipe(Effect.tapError(() => this.#clear(id, transaction)))
      yield* this.#store.commit([entry("ready")])
      const overtaken = yield* transaction.apply.pipe(Effect.tapError(() => undo))
      if (overtaken !== undefined) {
        yield* undo
        return { path: overtaken }
      }
      const { result, rows } = yield* record.pipe(Effect.tapError(() => undo))
      yield* this.#store.commit([...rows, entry("done")]).pipe(
        Effect.catch((failure) =>
          // The store may have failed after it wrote.
          findDecision(this.#store, setId, id) === undefined
            ? Effect.andThen(undo, Effect.fail(failure))
            : Effect.void
        )
      )
      yield* this.#finish(id, transaction)
      return result
    })

  /** Restores the files. What is beside is removed when the journal says that they are restored: they may be edited again. */
  #undo(entry: JournalEntry, transaction: FileTransaction) {
    return Effect.gen({ self: this }, function* () {
      const { id } = entry.plan
      const left = yield* transaction.reverse
      if (left.length > 0)
        yield* Effect.logWarning("left files that were changed during a decision", {
          decisionId: id,
          paths: left.map((path) => path.toString("utf8"))
        })
      yield* this.#store.commit([putJournal(id, { ...entry, state: "staging" })])
      yield* this.#clear(id, transaction)
    })
  }

  /** Removes what is beside, and then the journal. */
  #clear(id: ChangeDecisionId, transaction: FileTransaction) {
    return Effect.andThen(transaction.removeBeside, this.#store.commit([dropJournal(id)]))
  }

  /** Removes what a decision has beside the files. A later start does it as well. */
  #finish(id: ChangeDecisionId, transaction: FileTransaction) {
    return Effect.andThen(transaction.finish, this.#store.commit([dropJournal(id)])).pipe(
      Effect.catch(({ message }) =>
        Effect.logWarning("failed to remove old versions of files", { decisionId: id, cause: message })
      )
    )
  }

  /** Forgets a decision whose files were removed. */
  forget({ plan }: JournalEntry) {
    return this.#store.commit([dropJournal(plan.id)])
  }

  /** Decisions of a workspace, or of all, that an Edge was carrying out. */
  unfinished(root?: string): ReadonlyArray<JournalEntry> {
    return journalEntries(this.#store).filter((entry) => root === undefined || entry.root === root)
  }

  /** Reverses a decision that has no record, or removes what one with a record has left. Fails while the folder is not there. */
  recover(entry: JournalEntry, folder: string, shadow: ShadowRepository) {
    const { plan, state } = entry
    const transaction = new FileTransaction(readPlan(plan), folder, this.#operations, contentsOf(shadow))
    const work: Effect.Effect<void, CommitFailure> =
      state === "ready"
        ? this.#undo(entry, transaction)
        : state === "done"
          ? this.#finish(plan.id, transaction)
          : this.#clear(plan.id, transaction)
    const isAway = attemptFiles(() => transaction.isAway(state === "done"))
    return Effect.uninterruptible(
      Effect.flatMap(isAway, (away) =>
        away ? Effect.fail(new GitFailed({ message: "the folder of its files is not there" })) : work
      )
    )
  }
}
