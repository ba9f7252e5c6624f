/**
 * Follows one task in one chat to its end: a card that is drawn anew at most about once a second, an approval card for each question, and in a
 * direct chat what the agent said in the end.
 *
 * It may be begun again at any point: how far it was is kept, and what is said carries a key of its own.
 */
import { isTerminal } from "@corral/domain/run/Run"
import type { RunId } from "@corral/domain/identity/Ids"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { KnownEvent, UnknownEvent } from "@corral/domain/run/RunEvent"
import { Clock, Effect, Fiber, Queue, Schedule, Stream } from "effect"
import { ButtonActions } from "../action/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { HubRefused } from "../hub/HubFailures.ts"
import { Platforms } from "../platform/Platforms.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import { answerText } from "./AnswerText.ts"
import { type Follow, Follows } from "./Follows.ts"
import { newCard } from "./NewCard.ts"
import { advanced, isOver, type Progress, runCard, withoutRun } from "./RunCard.ts"

/** Between two drawings of a card: platforms allow five in a second, for everybody together. */
const RHYTHM = "1200 millis"
/** Half a minute at last: for what may pass, be it a platform, a Hub or a store. */
const patience = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")])
const CARD_LIVES_MS = 14 * 86_400_000

const isPassing = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "PlatformUnavailable" || _tag === "HubUnavailable" || _tag === "SqlError"

export const followTask = Effect.fn("followTask")(function* (begin: Follow) {
  const actions = yield* ButtonActions
  const approvals = yield* ApprovalCards
  const clock = yield* Clock.Clock
  const follows = yield* Follows
  const hub = yield* Hub
  const { account, chatId, direct, language, place, replyTo, taskId, threadId } = begin
  const platform = (yield* Platforms).of(account.platform)
  let state = begin
  /** The platform refuses to draw it: too old, or taken back by somebody. */
  let undrawable = false
  const changed = yield* Queue.sliding<void>(1)

  const keep = (more: Partial<Follow>) => {
    state = { ...state, ...more }
  }
  const save = Effect.suspend(() => follows.advance(taskId, state))
  const advance = (progress: Progress) => {
    if (progress === state.progress) return
    keep({ progress })
    Queue.offerUnsafe(changed, undefined)
  }

  const where = { _tag: "Chat", chatId, replyTo, threadId } as const
  const pageOf = (runId: RunId | undefined) =>
    hub.page(runId === undefined ? `/tasks/${taskId}` : `/runs/${runId}`)
  const withPatience = <A, E extends { readonly _tag: string }, R>(self: Effect.Effect<A, E, R>) =>
    Effect.retry(self, { schedule: patience, while: isPassing })

  // The same at every drawing.
  const cancel = yield* withPatience(
    actions.offer({
      bot: account,
      meaning: { _tag: "Cancel", taskId },
      expiresAt: clock.currentTimeMillisUnsafe() + CARD_LIVES_MS
    })
  )
  const draw = Effect.gen(function* () {
    if (undrawable) return
    const { cardTried: repeated, messageId, progress, runId } = state
    const card = runCard({ language, place, progress, cancel, url: pageOf(runId) })
    if (messageId === undefined) {
      if (!repeated) {
        keep({ cardTried: true })
        yield* save
      }
      const { drawn, message } = yield* newCard(platform, { where, card, key: taskId, repeated }, (sent) =>
        actions.attach([cancel], sent)
      )
      keep({ messageId: message.messageId })
      yield* save
      if (drawn) return
    }
    const shownOn = state.messageId
    if (shownOn !== undefined) yield* platform.update({ chatId, messageId: shownOn }, card)
    yield* save
  }).pipe(
    // What was sent is known of, or the same is sent again.
    Effect.uninterruptible,
    Effect.catchTag("NotSent", ({ message }) => {
      undrawable = true
      return Effect.logWarning("a card cannot be drawn", { taskId, reason: message })
    })
  )

  /** Until the Hub says which run the task has become, or that it becomes none. */
  const awaitRun = Effect.gen(function* () {
    for (
      let wait = 200;
      state.runId === undefined && !isOver(state.progress);
      wait = Math.min(wait * 1.5, 10_000)
    ) {
      const task = yield* withPatience(hub.as(account, ({ tasks }) => tasks.get({ params: { id: taskId } })))
      if (task.runId !== undefined) keep({ runId: task.runId })
      else {
        advance(withoutRun(state.progress, task))
        yield* Effect.sleep(wait)
      }
    }
  })

  const attend = Effect.fnUntraced(function* (read: KnownEvent | UnknownEvent) {
    if (read._tag === "UnknownEvent") return keep({ seq: read.envelope.seq })
    const { event } = read
    if (event.type === "run.approval.requested") {
      const { approvalId, expiresAt, request } = event.payload
      yield* withPatience(approvals.show(state, approvalId, request, expiresAt)).pipe(
        Effect.catchTag("NotSent", ({ message }) =>
          Effect.logWarning("an approval cannot be shown", { approvalId, reason: message })
        )
      )
    } else if (event.type === "run.approval.resolved") {
      yield* withPatience(approvals.settle(event.payload.approvalId, event.payload)).pipe(
        Effect.catchTag("NotSent", () => Effect.void)
      )
    }
    keep({ seq: event.seq })
    const { phase } = state.progress
    advance(advanced(state.progress, event))
    // Whoever asks how it goes is told so, and who goes on begins there.
    if (state.progress.phase !== phase && !isOver(state.progress)) yield* withPatience(save)
  })

  /** What a run has come to whose events are not there any more. */
  const caughtUp = ({ endedAt, error, lastSeq, state: status }: HubRun) => {
    keep({ seq: lastSeq })
    if (status !== "queued" && isTerminal(status))
      advance({ ...state.progress, phase: status, waiting: 0, endedAt, code: error?.code })
  }
  const follow = Effect.fnUntraced(function* (runId: RunId) {
    while (!isOver(state.progress)) {
      yield* Stream.runForEach(hub.events(account, runId, state.seq), attend).pipe(
        Effect.catchIf(
          (error) => error instanceof HubRefused && error.code === "conflict",
          () =>
            Effect.flatMap(
              hub.as(account, ({ runs }) => runs.get({ params: { id: runId } })),
              (run) => Effect.sync(() => caughtUp(run))
            )
        ),
        withPatience
      )
      // Cut off: by a Hub that ends, or for being slow.
      if (!isOver(state.progress)) yield* Effect.sleep("500 millis")
    }
  })

  /** In a chat that nobody else reads. */
  const tellAnswer = Effect.gen(function* () {
    const { progress, runId } = state
    if (!direct || runId === undefined || progress.phase !== "completed") return
    const { resultText } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
    const text = answerText(resultText ?? "")
    if (text !== undefined) yield* platform.send(where, { _tag: "Text", text }, `${taskId}-answer`)
  }).pipe(Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void))

  const drawing = yield* Effect.forkChild(
    Effect.forever(
      Effect.andThen(Queue.take(changed), Effect.andThen(withPatience(draw), Effect.sleep(RHYTHM)))
    )
  )
  if (state.messageId === undefined) Queue.offerUnsafe(changed, undefined)
  yield* Effect.gen(function* () {
    yield* awaitRun
    if (state.runId !== undefined) yield* follow(state.runId)
  }).pipe(
    // Who asked may not read it any more, or is linked to nobody.
    Effect.catchTag("HubRefused", () => Effect.sync(() => advance({ ...state.progress, phase: "lost" })))
  )
  yield* Fiber.interrupt(drawing)
  yield* withPatience(draw)
  yield* withPatience(approvals.closeAll(state))
  yield* withPatience(tellAnswer)
  yield* actions.expire(taskId)
  keep({ ended: true })
  yield* withPatience(save)
})
