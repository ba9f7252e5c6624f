/** Card of a followed message: sent once, then updated. Further input to a run has none. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Clock, Effect } from "effect"
import { ButtonActions } from "../button/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { Platforms } from "../platform/Platforms.ts"
import { type FollowState, retryTransient, saveFollow } from "./FollowState.ts"
import { followedOf } from "./FollowRow.ts"
import { newCard } from "./NewCard.ts"
import { runCard } from "./RunCard.ts"
import { hasCard } from "./TaskProgress.ts"

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
  const card = runCard({ language, place, progress, cancel, finish, url })
  if (messageId === undefined) {
    if (!cardTried) {
      state.update({ cardTried: true })
      yield* saveFollow(state)
    }
    const where = { _tag: "Chat", chatId, replyTo, threadId } as const
    const { isShown, message } = yield* newCard(
      platform,
      { where, card, key: id, repeated: cardTried },
      (sent) => actions.attach(finish === undefined ? [cancel] : [cancel, finish], sent)
    )
    state.update({ messageId: message.messageId })
    yield* saveFollow(state)
    if (isShown) return
  }
  const shownOn = state.current.messageId
  if (shownOn !== undefined) {
    if (finish !== undefined) yield* actions.attach([finish], { chatId, messageId: shownOn })
    yield* platform.update({ chatId, messageId: shownOn }, card)
  }
  yield* saveFollow(state)
})

/** Offers the cancel button, and returns the effect that sends or updates the card with the current state. */
export const makeTaskCardUpdate = Effect.fn("TaskCardUpdate.makeTaskCardUpdate")(function* (
  state: FollowState
) {
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
