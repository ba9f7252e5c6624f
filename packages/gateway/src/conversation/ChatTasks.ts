/**
 * Has work done: finds where, opens or goes on with a session of the Hub, makes the task and has it followed. Nothing here is done twice for
 * one event: each step's key follows from it.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import type { WorkLocation } from "../action/ButtonActions.ts"
import { TaskFollower } from "../following/TaskFollower.ts"
import { Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import { type HubFailed, HubRefused } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import * as phrases from "./Phrases.ts"
import { LocationPicker } from "./LocationPicker.ts"
import { locationName, WorkLocations } from "./WorkLocations.ts"
import type { Responder } from "./Responder.ts"
import { type PendingTask, type ConversationKey, type Conversation, Conversations } from "./Conversations.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError

const isActive = ({ state }: Task): boolean =>
  state === "pending" || state === "queued" || state === "dispatched" || state === "running"

const titleOf = (text: string): string => {
  const line = text.split("\n", 1)[0]?.trim() ?? ""
  const title = Array.from(line).slice(0, 80).join("").toWellFormed()
  return title === "" ? "Chat" : title
}

export class ChatTasks extends Context.Service<
  ChatTasks,
  {
    readonly start: (
      spot: ConversationKey,
      speaker: Responder,
      pending: PendingTask
    ) => Effect.Effect<void, Failed>
    /** Work goes there from now on; what has waited for that is begun. */
    readonly useLocation: (
      spot: ConversationKey,
      speaker: Responder,
      place: WorkLocation
    ) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/Work") {
  static readonly layer = Layer.effect(
    ChatTasks,
    Effect.gen(function* () {
      const choice = yield* LocationPicker
      const follower = yield* TaskFollower
      const follows = yield* Follows
      const hub = yield* Hub
      const places = yield* WorkLocations
      const talks = yield* Conversations

      /** The latest task of a talk, where the Hub still shows it. */
      const latest = ({ account }: Responder, { task }: Conversation) =>
        task === undefined
          ? Effect.undefined
          : Effect.catchTag(
              hub.as(account, ({ tasks }) => tasks.get({ params: { id: task.id } })),
              "HubRefused",
              () => Effect.undefined
            )

      /** A further message to a run that is at work. */
      const tellRun = Effect.fnUntraced(function* (
        { account, reply }: Responder,
        runId: RunId | undefined,
        { key, text }: PendingTask
      ) {
        if (runId === undefined) return yield* reply(phrases.agentIsBusy)
        const told = yield* hub
          .as(account, ({ runs }) =>
            runs.input({
              params: { id: runId },
              headers: { "idempotency-key": key },
              payload: { text }
            })
          )
          .pipe(
            Effect.as(phrases.sentToAgent),
            Effect.catchTag("HubRefused", (refused) =>
              refused.code === "conflict" ? Effect.succeed(phrases.agentIsBusy) : Effect.fail(refused)
            )
          )
        yield* reply(told)
      })

      const sessionOf = Effect.fnUntraced(function* (
        { account }: Responder,
        { session }: Conversation,
        { projectId }: WorkLocation,
        { fresh, key, text }: PendingTask
      ) {
        if (!fresh && session?.projectId === projectId) return session.id
        const made = yield* hub.as(account, ({ sessions }) =>
          sessions.create({
            headers: { "idempotency-key": key },
            payload: { projectId, title: titleOf(text) }
          })
        )
        return made.id
      })

      /** Goes on from the run before, where that is to be had; else begins anew. */
      const make = Effect.fnUntraced(function* (
        { account }: Responder,
        { agentId, projectId, targetId, workspace }: WorkLocation,
        { key, text }: PendingTask,
        sessionId: SessionId,
        resume: RunId | undefined
      ) {
        const create = (idempotencyKey: string, resumed: RunId | undefined) =>
          hub.as(account, ({ tasks }) =>
            Effect.map(
              tasks.create({
                headers: { "idempotency-key": idempotencyKey },
                payload: {
                  projectId,
                  targetId,
                  workspace,
                  agentId,
                  input: { text },
                  // Chat never loosens what is asked for.
                  mode: "ask",
                  sessionId,
                  ...(resumed === undefined ? {} : { resume: resumed })
                }
              }),
              ({ body }) => body
            )
          )
        if (resume === undefined) return yield* create(key, undefined)
        return yield* create(key, resume).pipe(
          Effect.catchIf(
            (error) => error instanceof HubRefused && error.code === "schema_validation_failed",
            () => create(`${key}:anew`.slice(0, 255), undefined)
          )
        )
      })

      /** The run to go on from: the latest one, at the same place, if its agent can. */
      const earlier = Effect.fnUntraced(function* (
        { account }: Responder,
        before: Task | undefined,
        place: WorkLocation
      ) {
        if (before?.runId === undefined || before.state === "failed") return undefined
        const { agentId, targetId, workspace } = before
        if (agentId !== place.agentId || targetId !== place.targetId || workspace !== place.workspace)
          return undefined
        const agents = yield* places.agents(account, place)
        return agents.find(({ id }) => id === agentId)?.capabilities.resume === true
          ? before.runId
          : undefined
      })

      const settle = Effect.fnUntraced(function* (
        { chatKey, key }: ConversationKey,
        now: Conversation,
        place: WorkLocation
      ) {
        if (chatKey !== key) yield* talks.set(chatKey, { ...(yield* talks.get(chatKey)), place })
        yield* talks.set(key, { ...now, place })
      })

      const begin = Effect.fnUntraced(function* (
        spot: ConversationKey,
        speaker: Responder,
        talk: Conversation,
        place: WorkLocation,
        before: Task | undefined,
        pending: PendingTask
      ) {
        const sessionId = yield* sessionOf(speaker, talk, place, pending)
        const resume = pending.fresh ? undefined : yield* earlier(speaker, before, place)
        const task = yield* make(speaker, place, pending, sessionId, resume)
        yield* follows.begin({
          taskId: task.id,
          account: speaker.account,
          chatId: spot.chatId,
          replyTo: pending.replyTo,
          threadId: pending.threadId,
          direct: pending.direct,
          language: speaker.language,
          place: locationName(place)
        })
        yield* settle(
          spot,
          {
            session: { id: sessionId, projectId: place.projectId },
            task: { id: task.id, key: pending.key }
          },
          place
        )
        yield* follower.wake
      })

      const start = Effect.fnUntraced(function* (
        spot: ConversationKey,
        speaker: Responder,
        pending: PendingTask
      ) {
        const talk = yield* talks.get(spot.key)
        // Done before, by somebody who died of what came after.
        if (talk.task?.key === pending.key) return yield* follower.wake
        const before = yield* latest(speaker, talk)
        if (before !== undefined && !pending.fresh && isActive(before))
          return yield* tellRun(speaker, before.runId, pending)
        const known = talk.place ?? (yield* talks.get(spot.chatKey)).place
        if (known !== undefined) return yield* begin(spot, speaker, talk, known, before, pending)
        const options = yield* places.of(speaker.account)
        const [only, ...others] = options
        if (only === undefined) return yield* speaker.reply(phrases.noLocations)
        if (others.length === 0) return yield* begin(spot, speaker, talk, only, before, pending)
        yield* talks.set(spot.key, { ...talk, pending })
        yield* choice.show(spot, speaker, options, phrases.whereTitle)
      })

      return ChatTasks.of({
        start,
        useLocation: Effect.fnUntraced(function* (spot, speaker, place) {
          const talk = yield* talks.get(spot.key)
          yield* speaker.reply(phrases.locationSet(locationName(place)), "here")
          const { pending } = talk
          if (pending === undefined) return yield* settle(spot, talk, place)
          const before = yield* latest(speaker, talk)
          yield* begin(spot, speaker, { ...talk, place }, place, before, pending)
        })
      })
    })
  )
}
