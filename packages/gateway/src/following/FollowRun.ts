/** Following of a run over its events, to the end. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { KnownEvent } from "@corral/domain/run/RunEvent"
import { Effect, Stream } from "effect"
import type { SqlError } from "effect/sql"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Hub } from "../hub/Hub.ts"
import { HubRefused, type HubUnavailable } from "../hub/HubFailures.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import { type FollowState, retryTransient, saveFollow } from "./FollowState.ts"
import { InputCards } from "./InputCards.ts"
import { sendTurnText } from "./TurnText.ts"
import { hasTaskEnded, progressAfter } from "./TaskProgress.ts"

/** Sends or settles the card of a request, and the text of a turn. */
const applyToChat = Effect.fnUntraced(function* (state: FollowState, { event }: KnownEvent) {
  const approvals = yield* ApprovalCards
  const inputs = yield* InputCards
  switch (event.type) {
    case "run.approval.requested": {
      const { approvalId, expiresAt, request } = event.payload
      return yield* shown(approvalId, approvals.show(state.current, approvalId, request, expiresAt))
    }
    case "run.approval.resolved":
      return yield* settled(approvals.settle(event.payload.approvalId, event.payload))
    case "run.input.requested": {
      const { expiresAt, inputId, request } = event.payload
      return yield* shown(inputId, inputs.show(state.current, inputId, request, expiresAt))
    }
    case "run.input.resolved":
      return yield* settled(inputs.settle(event.payload.inputId, event.payload))
    case "run.turn.ended":
      return yield* sendTurnText(state, event)
    default:
  }
})

type CardFailed = HubUnavailable | NotSent | PlatformUnavailable | SqlError.SqlError

const shown = (id: string, show: Effect.Effect<void, CardFailed>) =>
  retryTransient(show).pipe(
    Effect.catchTag("NotSent", ({ message }) =>
      Effect.logWarning("failed to show a request", { id, reason: message })
    )
  )

const settled = (settle: Effect.Effect<void, CardFailed>) =>
  retryTransient(settle).pipe(Effect.catchTag("NotSent", () => Effect.void))

const applyEvent = Effect.fnUntraced(function* (state: FollowState, { decoded, missing }: SequencedEvent) {
  if (missing !== undefined)
    yield* Effect.logWarning("missed events of a run", { message: state.current.id, ...missing })
  if (decoded._tag === "UnknownEvent") return state.update({ seq: decoded.envelope.seq })
  const { event } = decoded
  yield* applyToChat(state, decoded)
  state.update({ seq: event.seq })
  const { phase } = state.current.progress
  state.setProgress(progressAfter(state.current.progress, event))
  // The status command reads the saved phase. Another Gateway continues from it, and sends the text of no turn again.
  const isNoted = state.current.progress.phase !== phase || event.type === "run.turn.ended"
  if (isNoted && !hasTaskEnded(state.current.progress)) yield* retryTransient(saveFollow(state))
})

/** The state of a run whose events are deleted. */
const applyRun = (state: FollowState, { endedAt, error, lastSeq, state: runState }: HubRun): void => {
  state.update({ seq: lastSeq })
  if (runState === "queued" || !isTerminal(runState)) return
  state.setProgress({
    ...state.current.progress,
    phase: runState,
    waiting: 0,
    questions: undefined,
    background: undefined,
    idle: undefined,
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
