/**
 * Following of messages, each in its own fiber in one chat to the end of its run: the card of the run, a card for each approval and question,
 * and the agent's answers where the project's policy allows them.
 *
 * Guarantees: a message is followed while this Gateway holds its lease. Another Gateway's messages are taken over when their leases expire, at
 * any point: the position is saved, and every message to the chat has its own key.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { KnownEvent } from "@corral/domain/run/RunEvent"
import { Coalesced } from "@corral/service/Coalesced"
import { Cause, Clock, Context, Effect, Fiber, Layer, Stream } from "effect"
import type { SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { ButtonActions } from "../button/ButtonActions.ts"
import { Hub, HubRefused, type HubUnavailable } from "../hub/Hub.ts"
import {
  type NotSent,
  type PlatformUnavailable,
  Platforms,
  localizedTextIn
} from "../platform/ChatPlatform.ts"
import { answerText } from "./AnswerText.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import {
  FollowState,
  allowsAgentText,
  awaitRun,
  retryTransient,
  returnsToTurn,
  saveFollow,
  sendText,
  sendTurnText,
  textHash
} from "./FollowedRun.ts"
import { type Follow, followedOf, type FollowId, Follows } from "./Follows.ts"
import { readAcceptable } from "./AcceptedChanges.ts"
import { InputCards } from "./InputCards.ts"
import { newCard } from "./NewCard.ts"
import { phaseTitle, runCard } from "./RunCard.ts"
import { hasCard, hasTaskEnded, progressAfter, startingProgress } from "./TaskProgress.ts"

// Following of a run over its events, to the end.

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
const followRun = Effect.fn("MessageFollower.followRun")(function* (state: FollowState, runId: RunId) {
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

// Card of a followed message: sent once, then updated. Further input to a run has none.

const CARD_LIFETIME_MS = 14 * 86_400_000

/** The button that ends the background work. */
const offerFinish = Effect.fnUntraced(function* ({ current: { account, id } }: FollowState, runId: RunId) {
  const clock = yield* Clock.Clock
  return yield* (yield* ButtonActions).offer({
    bot: account,
    meaning: { _tag: "Finish", runId, follow: id },
    expiresAt: clock.currentTimeMillisUnsafe() + CARD_LIFETIME_MS
  })
})

/** The button that accepts the changes of the run. */
const offerAccept = Effect.fnUntraced(function* (
  { current: { account, id, progress } }: FollowState,
  runId: RunId
) {
  const version = progress.acceptable?.version
  if (version === undefined) return undefined
  const clock = yield* Clock.Clock
  return yield* (yield* ButtonActions).offer({
    bot: account,
    meaning: { _tag: "Accept", runId, version, follow: id },
    expiresAt: clock.currentTimeMillisUnsafe() + CARD_LIFETIME_MS
  })
})

const sendOrUpdate = Effect.fnUntraced(function* (state: FollowState, cancel: string) {
  const actions = yield* ButtonActions
  const hub = yield* Hub
  const {
    account,
    cardTried,
    chatId,
    language,
    messageId,
    place,
    progress,
    id,
    replyTo,
    runId,
    sessionId,
    threadId
  } = state.current
  const platform = (yield* Platforms).of(account.platform)
  const page = sessionId === undefined ? `/tasks/${id}` : `/sessions/${sessionId}`
  const url = hub.page(runId === undefined ? page : `/runs/${runId}`)
  const finish = runId === undefined || progress.idle !== true ? undefined : yield* offerFinish(state, runId)
  const accept = runId === undefined ? undefined : yield* offerAccept(state, runId)
  const card = runCard({ language, place, progress, accept, cancel, finish, url })
  const offered = [cancel, finish, accept].filter((action) => action !== undefined)
  if (messageId === undefined) {
    if (!cardTried) {
      state.update({ cardTried: true })
      yield* saveFollow(state)
    }
    const where = { _tag: "Chat", chatId, replyTo, threadId } as const
    const { isShown, message } = yield* newCard(
      platform,
      { where, card, key: id, repeated: cardTried },
      (sent) => actions.attach(offered, sent)
    )
    state.update({ messageId: message.messageId })
    yield* saveFollow(state)
    if (isShown) return
  }
  const shownOn = state.current.messageId
  if (shownOn !== undefined) {
    yield* actions.attach(offered, { chatId, messageId: shownOn })
    yield* platform.update({ chatId, messageId: shownOn }, card)
  }
  yield* saveFollow(state)
})

/** Offers the cancel button, and returns the effect that sends or updates the card with the current state. */
const makeTaskCardUpdate = Effect.fn("MessageFollower.makeTaskCardUpdate")(function* (state: FollowState) {
  const clock = yield* Clock.Clock
  const { account, id } = state.current
  const followed = followedOf(state.current)
  // Every update has the same id.
  const cancel = yield* retryTransient(
    (yield* ButtonActions).offer({
      bot: account,
      meaning: "taskId" in followed ? { _tag: "Cancel", ...followed } : { _tag: "Stop", ...followed },
      expiresAt: clock.currentTimeMillisUnsafe() + CARD_LIFETIME_MS
    })
  )
  return Effect.suspend(() =>
    state.isDrawable && hasCard(state.current.progress) ? sendOrUpdate(state, cancel) : Effect.void
  ).pipe(
    // The message of a sent card must be saved, or the card is sent twice.
    Effect.uninterruptible,
    Effect.catchTag("NotSent", ({ message }) => {
      state.isDrawable = false
      return Effect.logWarning("failed to draw a card", { message: id, reason: message })
    })
  )
})

/** Between two drawings of a card. Platforms allow five per second, for all callers together. */
const DRAWING_PAUSE = "1200 millis"

const ORDER_LOOKS = 60
const ORDER_PAUSE = "500 millis"

/** Looks for the report of the Edge about the changes. It follows the end of the run. */
const CHANGES_LOOKS = 20

/** Adds to the card what no one has decided about. A run without a layer or a worktree has nothing to decide. */
const addUndecided = Effect.fn("MessageFollower.addUndecided")(
  function* (state: FollowState) {
    const { account, runId } = state.current
    if (runId === undefined) return
    const hub = yield* Hub
    const readRun = hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
    for (let looks = 0; looks < CHANGES_LOOKS; looks++) {
      const { changes, isolation = "none" } = yield* readRun
      if (isolation === "none") return
      if (changes !== undefined && changes.runId >= runId) {
        const { direct, fileCount, state: set } = changes
        const undecided = set === "open" && direct !== true ? fileCount : 0
        if (undecided === 0) return
        const acceptable = yield* readAcceptable(account, runId)
        state.setProgress({ ...state.current.progress, undecided, ...(acceptable && { acceptable }) })
        return
      }
      yield* Effect.sleep(ORDER_PAUSE)
    }
  },
  Effect.catchTag("HubRefused", () => Effect.void)
)

/** Waits until the answers to earlier messages are sent. Their runs have ended; their follows may know it a moment later. */
const awaitEarlier = Effect.fnUntraced(function* ({ current }: FollowState) {
  const follows = yield* Follows
  for (let looks = 0; looks < ORDER_LOOKS && (yield* follows.hasEarlier(current)); looks++)
    yield* Effect.sleep(ORDER_PAUSE)
})

/** Sends the agent's answer, if the project's policy allows it in this chat now. */
const sendAnswer = Effect.fnUntraced(function* (state: FollowState) {
  const { account, progress, runId } = state.current
  if (runId === undefined) return
  const hub = yield* Hub
  const { resultText = "" } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
  const text = answerText(resultText)
  // The text of the last turn is in the chat already.
  if (text === undefined || textHash(text) === progress.lastText) return
  if (!(yield* allowsAgentText(state.current))) return
  yield* awaitEarlier(state)
  yield* sendText(state, text, "answer")
})

/** Sends what the card does not show: the answer, or that the run in progress has the message. */
const sendOutcome = Effect.fn("MessageFollower.sendOutcome")(
  function* (state: FollowState) {
    const { language, progress } = state.current
    if (progress.phase === "completed") yield* sendAnswer(state)
    if (progress.phase === "sent")
      yield* sendText(state, localizedTextIn(phaseTitle(progress), language), "sent")
  },
  Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void)
)

const followToEnd = Effect.fn("MessageFollower.followToEnd")(
  function* (state: FollowState) {
    do {
      yield* awaitRun(state)
      if (state.current.runId !== undefined) yield* followRun(state, state.current.runId)
    } while (yield* returnsToTurn(state, startingProgress))
  },
  (self, state) =>
    // The account may no longer read the run, or is no longer linked.
    Effect.catchTag(self, "HubRefused", () =>
      Effect.sync(() => state.setProgress({ ...state.current.progress, phase: "lost" }))
    )
)

/**
 * Following of one message in one chat to the end of its run: the card of the run, a card for each approval and question, and the agent's
 * answers where the project's policy allows them.
 *
 * Guarantees: another Gateway can continue at any point. The position is saved, and every message to the chat has its own key.
 */
const followMessage = Effect.fn("MessageFollower.followMessage")(function* (begin: Follow) {
  const state = yield* FollowState.make(begin)
  const draw = yield* makeTaskCardUpdate(state)
  const drawing = yield* state.changed.woken.pipe(
    Effect.andThen(retryTransient(draw)),
    Effect.andThen(Effect.sleep(DRAWING_PAUSE)),
    Effect.forever,
    Effect.forkChild
  )
  if (begin.messageId === undefined) state.requestDrawing()
  yield* followToEnd(state)
  yield* Fiber.interrupt(drawing)
  yield* retryTransient(draw)
  yield* retryTransient((yield* ApprovalCards).closeAll(state.current))
  yield* retryTransient((yield* InputCards).closeAll(state.current))
  yield* retryTransient(sendOutcome(state))
  // After the answer: an Edge of an earlier version reports nothing.
  const { progress } = state.current
  yield* retryTransient(addUndecided(state))
  if (state.current.progress !== progress) yield* retryTransient(draw)
  yield* (yield* ButtonActions).expire(begin.id)
  state.update({ ended: true })
  yield* retryTransient(saveFollow(state))
})

/** Renewed several times in a lease. */
const RENEWAL_PERIOD = "2 seconds"
/** Maximum number of followed messages. Further ones wait until one has ended. */
const MAX_FOLLOWED = 1_000

export class MessageFollower extends Context.Service<
  MessageFollower,
  {
    /** Looks for new follows now. */
    readonly wake: Effect.Effect<void>
  }
>()("corral/gateway/MessageFollower") {
  static readonly layer = Layer.effect(
    MessageFollower,
    Effect.gen(function* () {
      const follows = yield* Follows
      const owner = randomUUID()
      const rounds = yield* Coalesced.make
      const fibers = new Map<FollowId, Fiber.Fiber<void>>()

      const begin = Effect.fnUntraced(function* (follow: Follow) {
        const following = Effect.scoped(followMessage(follow)).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.void
              : Effect.logError("failed to follow a message", { message: follow.id }, cause)
          ),
          Effect.ensuring(Effect.sync(() => fibers.delete(follow.id)))
        )
        fibers.set(follow.id, yield* Effect.forkScoped(following))
      })

      const round = Effect.gen(function* () {
        const leased = yield* follows.lease(owner, MAX_FOLLOWED)
        const leasedIds = new Set(leased.map(({ id }) => id))
        // Another Gateway holds them, or they have ended.
        const lost = [...fibers].filter(([id]) => !leasedIds.has(id))
        yield* Effect.forEach(lost, ([, fiber]) => Fiber.interrupt(fiber), { discard: true })
        yield* Effect.forEach(
          leased.filter(({ id }) => !fibers.has(id)),
          begin,
          { discard: true }
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to read follows", cause)))

      yield* Effect.addFinalizer(() => Effect.ignoreCause(follows.release(owner)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(round, Effect.timeoutOption(rounds.woken, RENEWAL_PERIOD)))
      )
      return MessageFollower.of({ wake: Effect.sync(rounds.wake) })
    })
  )
}
