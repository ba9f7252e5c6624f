/**
 * Tasks from a chat: finds the location, creates the task at the Hub and follows it.
 *
 * Guarantees: an event that is handled again repeats no step.
 */
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import type { WorkLocation } from "../action/ButtonMeaning.ts"
import { Follows } from "../following/Follows.ts"
import { TaskFollower } from "../following/TaskFollower.ts"
import type { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { type Conversation, type ConversationKey, Conversations, type PendingTask } from "./Conversations.ts"
import { createTask, latestTask, resumableRun, sendToRun, sessionFor } from "./HubTasks.ts"
import { LocationPicker } from "./LocationPicker.ts"
import * as phrases from "./Phrases.ts"
import type { Responder } from "./Responder.ts"
import { locationName, WorkLocations } from "./WorkLocations.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError

type Services = Conversations | Follows | Hub | LocationPicker | TaskFollower | WorkLocations

export class ChatTasks extends Context.Service<
  ChatTasks,
  {
    /** Starts a task, or sends the text to the run in progress. Asks for a location if several are possible. */
    readonly start: (
      key: ConversationKey,
      responder: Responder,
      pending: PendingTask
    ) => Effect.Effect<void, Failed>
    /** Sets the location of the conversation, and starts the task that waits for one. */
    readonly useLocation: (
      key: ConversationKey,
      responder: Responder,
      location: WorkLocation
    ) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/ChatTasks") {
  static readonly layer = Layer.effect(
    ChatTasks,
    Effect.gen(function* () {
      const services = yield* Effect.context<Services>()
      return ChatTasks.of({
        start: (key, responder, pending) => Effect.provide(start(key, responder, pending), services),
        useLocation: (key, responder, location) =>
          Effect.provide(useLocation(key, responder, location), services)
      })
    })
  )
}

const isActive = ({ state }: Task): boolean =>
  state === "pending" || state === "queued" || state === "dispatched" || state === "running"

/** Saves a conversation at its location. Conversations that begin later in this chat use the same location. */
const saveAt = Effect.fn("ChatTasks.saveAt")(function* (
  { chatKey, key }: ConversationKey,
  conversation: Conversation,
  place: WorkLocation
) {
  const conversations = yield* Conversations
  if (chatKey !== key) yield* conversations.set(chatKey, { ...(yield* conversations.get(chatKey)), place })
  yield* conversations.set(key, { ...conversation, place })
})

const startAt = Effect.fn("ChatTasks.startAt")(function* (
  key: ConversationKey,
  responder: Responder,
  conversation: Conversation,
  location: WorkLocation,
  latest: Task | undefined,
  pending: PendingTask
) {
  const sessionId = yield* sessionFor(responder, conversation, location, pending)
  const resume = pending.fresh ? undefined : yield* resumableRun(responder, latest, location)
  const task = yield* createTask(responder, location, pending, sessionId, resume)
  yield* (yield* Follows).begin({
    taskId: task.id,
    account: responder.account,
    chatId: key.chatId,
    replyTo: pending.replyTo,
    threadId: pending.threadId,
    direct: pending.direct,
    language: responder.language,
    place: locationName(location)
  })
  const session = { id: sessionId, projectId: location.projectId }
  yield* saveAt(key, { session, task: { id: task.id, key: pending.key } }, location)
  yield* (yield* TaskFollower).wake
})

const start = Effect.fn("ChatTasks.start")(function* (
  key: ConversationKey,
  responder: Responder,
  pending: PendingTask
) {
  const conversations = yield* Conversations
  const conversation = yield* conversations.get(key.key)
  // The task was created, and its Gateway stopped afterwards.
  if (conversation.task?.key === pending.key) return yield* (yield* TaskFollower).wake
  const latest = yield* latestTask(responder, conversation)
  if (latest !== undefined && !pending.fresh && isActive(latest))
    return yield* responder.reply(yield* sendToRun(responder, latest.runId, pending))
  const place = conversation.place ?? (yield* conversations.get(key.chatKey)).place
  if (place !== undefined) return yield* startAt(key, responder, conversation, place, latest, pending)
  const locations = yield* (yield* WorkLocations).of(responder.account)
  const [only, ...others] = locations
  if (only === undefined) return yield* responder.reply(phrases.noLocations)
  if (others.length === 0) return yield* startAt(key, responder, conversation, only, latest, pending)
  yield* conversations.set(key.key, { ...conversation, pending })
  yield* (yield* LocationPicker).show(key, responder, locations, phrases.whereTitle)
})

const useLocation = Effect.fn("ChatTasks.useLocation")(function* (
  key: ConversationKey,
  responder: Responder,
  location: WorkLocation
) {
  const conversation = yield* (yield* Conversations).get(key.key)
  yield* responder.reply(phrases.locationSet(locationName(location)), "here")
  const { pending } = conversation
  if (pending === undefined) return yield* saveAt(key, conversation, location)
  const latest = yield* latestTask(responder, conversation)
  yield* startAt(key, responder, { ...conversation, place: location }, location, latest, pending)
})
