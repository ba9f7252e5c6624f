/** Following of a run over its events, to the end. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { KnownEvent } from "@corral/domain/run/RunEvent"
import { Effect, Stream } from "effect"
import { Hub } from "../hub/Hub.ts"
import { HubRefused } from "../hub/HubFailures.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import { type FollowState, retryTransient, saveFollow } from "./FollowState.ts"
import { hasTaskEnded, progressAfter } from "./TaskProgress.ts"

const applyApproval = Effect.fnUntraced(function* (state: FollowState, { event }: KnownEvent) {
  const approvals = yield* ApprovalCards
  if (event.type === "run.approval.requested") {
    const { approvalId, expiresAt, request } = event.payload
    yield* retryTransient(approvals.show(state.current, approvalId, request, expiresAt)).pipe(
      Effect.catchTag("NotSent", ({ message }) =>
        Effect.logWarning("failed to show an approval", { approvalId, reason: message })
      )
    )
  } else if (event.type === "run.approval.resolved") {
    yield* retryTransient(approvals.settle(event.payload.approvalId, event.payload)).pipe(
      Effect.catchTag("NotSent", () => Effect.void)
    )
  }
})

const applyEvent = Effect.fnUntraced(function* (state: FollowState, { decoded, missing }: SequencedEvent) {
  if (missing !== undefined)
    yield* Effect.logWarning("missed events of a run", { message: state.current.id, ...missing })
  if (decoded._tag === "UnknownEvent") return state.update({ seq: decoded.envelope.seq })
  const { event } = decoded
  yield* applyApproval(state, decoded)
  state.update({ seq: event.seq })
  const { phase } = state.current.progress
  state.setProgress(progressAfter(state.current.progress, event))
  // The status command reads the saved phase, and another Gateway continues from it.
  if (state.current.progress.phase !== phase && !hasTaskEnded(state.current.progress))
    yield* retryTransient(saveFollow(state))
})

/** The state of a run whose events are deleted. */
const applyRun = (state: FollowState, { endedAt, error, lastSeq, state: runState }: HubRun): void => {
  state.update({ seq: lastSeq })
  if (runState === "queued" || !isTerminal(runState)) return
  state.setProgress({
    ...state.current.progress,
    phase: runState,
    waiting: 0,
    endedAt,
    code: error?.code
  })
}

/** Applies the events of the run until it ends. */
export const followRun = Effect.fn("FollowRun.followRun")(function* (state: FollowState, runId: RunId) {
  const hub = yield* Hub
  const { account } = state.current
  const readRun = Effect.map(
    hub.as(account, ({ runs }) => runs.get({ params: { id: runId } })),
    (run) => applyRun(state, run)
  )
  while (!hasTaskEnded(state.current.progress)) {
    yield* Effect.suspend(() =>
      Stream.runForEach(hub.events(account, runId, state.current.seq), (event) => applyEvent(state, event))
    ).pipe(
      Effect.catchIf(
        (error) => error instanceof HubRefused && error.code === "conflict",
        () => readRun
      ),
      retryTransient
    )
    // The Hub closed the stream: it stops, or this reader was slow.
    if (!hasTaskEnded(state.current.progress)) yield* Effect.sleep("500 millis")
  }
})
