/**
 * Has work done: finds where, opens or goes on with a session of the Hub, makes the task and has it followed. Nothing here is done twice for
 * one event: each step's key follows from it.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import type { Place } from "../action/Actions.ts"
import { Follower } from "../following/Follower.ts"
import { Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import { type HubFailed, HubRefused } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import * as phrases from "./Phrases.ts"
import { PlaceChoice } from "./PlaceChoice.ts"
import { placeName, Places } from "./Places.ts"
import type { Speaker } from "./Speaker.ts"
import { type Pending, type Spot, type Talk, Talks } from "./Talks.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError

const isActive = ({ state }: Task): boolean =>
  state === "pending" || state === "queued" || state === "dispatched" || state === "running"

const titleOf = (text: string): string => {
  const line = text.split("\n", 1)[0]?.trim() ?? ""
  const title = Array.from(line).slice(0, 80).join("").toWellFormed()
  return title === "" ? "Chat" : title
}

export class Work extends Context.Service<
  Work,
  {
    readonly start: (spot: Spot, speaker: Speaker, pending: Pending) => Effect.Effect<void, Failed>
    /** Work goes there from now on; what has waited for that is begun. */
    readonly use: (spot: Spot, speaker: Speaker, place: Place) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/Work") {
  static readonly layer = Layer.effect(
    Work,
    Effect.gen(function* () {
      const choice = yield* PlaceChoice
      const follower = yield* Follower
      const follows = yield* Follows
      const hub = yield* Hub
      const places = yield* Places
      const talks = yield* Talks

      /** The latest task of a talk, where the Hub still shows it. */
      const latest = ({ account }: Speaker, { task }: Talk) =>
        task === undefined
          ? Effect.undefined
          : Effect.catchTag(
              hub.as(account, ({ tasks }) => tasks.get({ params: { id: task.id } })),
              "HubRefused",
              () => Effect.undefined
            )

      /** A further message to a run that is at work. */
      const tellRun = Effect.fnUntraced(function* (
        { account, say }: Speaker,
        runId: RunId | undefined,
        { key, text }: Pending
      ) {
        if (runId === undefined) return yield* say(phrases.stillAtWork)
        const told = yield* hub
          .as(account, ({ runs }) =>
            runs.input({
              params: { id: runId },
              headers: { "idempotency-key": key },
              payload: { text }
            })
          )
          .pipe(
            Effect.as(phrases.toldAgent),
            Effect.catchTag("HubRefused", (refused) =>
              refused.code === "conflict" ? Effect.succeed(phrases.stillAtWork) : Effect.fail(refused)
            )
          )
        yield* say(told)
      })

      const sessionOf = Effect.fnUntraced(function* (
        { account }: Speaker,
        { session }: Talk,
        { projectId }: Place,
        { fresh, key, text }: Pending
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
        { account }: Speaker,
        { agentId, projectId, targetId, workspace }: Place,
        { key, text }: Pending,
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
        { account }: Speaker,
        before: Task | undefined,
        place: Place
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

      const settle = Effect.fnUntraced(function* ({ base, talk }: Spot, now: Talk, place: Place) {
        if (base !== talk) yield* talks.set(base, { ...(yield* talks.get(base)), place })
        yield* talks.set(talk, { ...now, place })
      })

      const begin = Effect.fnUntraced(function* (
        spot: Spot,
        speaker: Speaker,
        talk: Talk,
        place: Place,
        before: Task | undefined,
        pending: Pending
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
          place: placeName(place)
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

      const start = Effect.fnUntraced(function* (spot: Spot, speaker: Speaker, pending: Pending) {
        const talk = yield* talks.get(spot.talk)
        // Done before, by somebody who died of what came after.
        if (talk.task?.key === pending.key) return yield* follower.wake
        const before = yield* latest(speaker, talk)
        if (before !== undefined && !pending.fresh && isActive(before))
          return yield* tellRun(speaker, before.runId, pending)
        const known = talk.place ?? (yield* talks.get(spot.base)).place
        if (known !== undefined) return yield* begin(spot, speaker, talk, known, before, pending)
        const options = yield* places.of(speaker.account)
        const [only, ...others] = options
        if (only === undefined) return yield* speaker.say(phrases.nowhere)
        if (others.length === 0) return yield* begin(spot, speaker, talk, only, before, pending)
        yield* talks.set(spot.talk, { ...talk, pending })
        yield* choice.show(spot, speaker, options, phrases.whereTitle)
      })

      return Work.of({
        start,
        use: Effect.fnUntraced(function* (spot, speaker, place) {
          const talk = yield* talks.get(spot.talk)
          yield* speaker.say(phrases.here(placeName(place)), "here")
          const { pending } = talk
          if (pending === undefined) return yield* settle(spot, talk, place)
          const before = yield* latest(speaker, talk)
          yield* begin(spot, speaker, { ...talk, place }, place, before, pending)
        })
      })
    })
  )
}
