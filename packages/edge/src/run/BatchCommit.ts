/**
 * Commit of a batch: its events, their rows and the run's journal, in one transaction.
 *
 * `commitNow` commits within the call if the store is idle. `commitBatch` is the same for any batch, with its artifacts.
 */
import { Effect } from "effect"
import { forgetJournal, type RunJournal } from "../journal/RunJournal.ts"
import type { StoreFailed, Write } from "../store/Store.ts"
import type { BatchState, BatchCommit } from "./BatchState.ts"
import { storeOutputs } from "./OutputStorage.ts"
import type { RunSession } from "./RunSession.ts"

/** Commits a batch without artifacts. `false` if nothing is committed: `commitBatch` continues then. */
export const commitNow = (session: RunSession, batch: BatchState): boolean => {
  const { log, recorder } = session.options
  batch.commit = takeCommit(session, batch)
  if (batch.commit === undefined) return true
  const { events, projections, run } = batch.commit
  if (!log.appendNow(events, projections)) return false
  recorder.committed(run)
  return true
}

export const commitBatch = Effect.fnUntraced(function* (
  session: RunSession,
  batch: BatchState
): Effect.fn.Return<void, StoreFailed> {
  const { artifacts, log, recorder } = session.options
  if (batch.commit === undefined) {
    yield* storeOutputs(artifacts, recorder)
    batch.commit = takeCommit(session, batch)
    if (batch.commit === undefined) return
  }
  yield* log.append(batch.commit.events, batch.commit.projections)
  recorder.committed(batch.commit.run)
})

const takeCommit = (session: RunSession, batch: BatchState): BatchCommit | undefined => {
  const { journal, options, position } = session
  const { recorder } = options
  if (journal !== undefined) recorder.addRows(journalRows(session, journal, batch))
  return recorder.take(journal === undefined ? undefined : position.outputs)
}

/** State that belongs to the next commit. A stop and a finish are stored even if nothing else is: the user was told. */
const journalRows = (
  { isStopping, options: { recorder }, reported }: RunSession,
  journal: RunJournal,
  { actions, replies }: BatchState
): ReadonlyArray<Write> => {
  if (recorder.terminal) return [forgetJournal(recorder.run.id)]
  const stops = isStopping || actions.some(({ _tag }) => _tag === "Stop")
  // The outcome that a runtime has reported is found again in its output.
  const isFinished = replies.length > 0 && actions.some(({ _tag }) => _tag === "Leave")
  if (!recorder.hasChanges && (isStopping || !(stops || isFinished))) return []
  const row = journal.state(recorder.state, stops, reported.isOver)
  return row === undefined ? [] : [row]
}
