/** Card of a followed task: sent once, then updated. */
import { Clock, Effect } from "effect"
import { ButtonActions } from "../action/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { Platforms } from "../platform/Platforms.ts"
import { type FollowState, retryTransient, saveFollow } from "./FollowState.ts"
import { newCard } from "./NewCard.ts"
import { runCard } from "./RunCard.ts"

const CARD_LIFETIME_MS = 14 * 86_400_000

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
    replyTo,
    runId,
    taskId,
    threadId
  } = state.current
  const platform = (yield* Platforms).of(account.platform)
  const url = hub.page(runId === undefined ? `/tasks/${taskId}` : `/runs/${runId}`)
  const card = runCard({ language, place, progress, cancel, url })
  if (messageId === undefined) {
    if (!cardTried) {
      state.update({ cardTried: true })
      yield* saveFollow(state)
    }
    const where = { _tag: "Chat", chatId, replyTo, threadId } as const
    const { isShown, message } = yield* newCard(
      platform,
      { where, card, key: taskId, repeated: cardTried },
      (sent) => actions.attach([cancel], sent)
    )
    state.update({ messageId: message.messageId })
    yield* saveFollow(state)
    if (isShown) return
  }
  const shownOn = state.current.messageId
  if (shownOn !== undefined) yield* platform.update({ chatId, messageId: shownOn }, card)
  yield* saveFollow(state)
})

/** Offers the cancel button, and returns the effect that sends or updates the card with the current state. */
export const makeTaskCardUpdate = Effect.fn("TaskCardUpdate.makeTaskCardUpdate")(function* (
  state: FollowState
) {
  const clock = yield* Clock.Clock
  const { account, taskId } = state.current
  // Every update has the same id.
  const cancel = yield* retryTransient(
    (yield* ButtonActions).offer({
      bot: account,
      meaning: { _tag: "Cancel", taskId },
      expiresAt: clock.currentTimeMillisUnsafe() + CARD_LIFETIME_MS
    })
  )
  return Effect.suspend(() => (state.isDrawable ? sendOrUpdate(state, cancel) : Effect.void)).pipe(
    // The message of a sent card must be saved, or the card is sent twice.
    Effect.uninterruptible,
    Effect.catchTag("NotSent", ({ message }) => {
      state.isDrawable = false
      return Effect.logWarning("failed to draw a card", { taskId, reason: message })
    })
  )
})
