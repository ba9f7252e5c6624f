/** Chat commands for the session of a chat or thread: its agent and the limits of its turns, its location, a new session, and an end of all its work. */
import { findAgent } from "@corral/domain/offer/Offer"
import type { GroupCandidate } from "@corral/domain/hub-api/TaskGroups"
import type { Session } from "@corral/domain/session/Session"
import { isTaskOver } from "@corral/domain/task/Task"
import { parseLimits, typedLimits } from "@corral/domain/run/LimitText"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { followedOf, Follows } from "../following/Follows.ts"
import { Hub, type HubFailed, HubRefused } from "../hub/Hub.ts"
import type { Card, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { ChatMessages } from "./ChatMessages.ts"
import {
  type ChatSession,
  ChatSessions,
  type ConversationKey,
  Conversations,
  threadKeyOf
} from "./Conversations.ts"
import { agentAt, readSession, recipientOf, stopMessage } from "./HubSessions.ts"
import { LocationPicker, WorkLocations, locationName } from "./WorkLocations.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError
type Handled = Effect.Effect<void, Failed>

type Services = ChatMessages | ChatSessions | Conversations | Follows | Hub | LocationPicker | WorkLocations

export class SessionCommands extends Context.Service<
  SessionCommands,
  {
    /** Stops the run in progress, and withdraws the messages of this chat that wait for their turn. */
    readonly stop: (key: ConversationKey, responder: Responder) => Handled
    /** Sends the messages of the session that are held after a stop or an error. Returns whether there were any. */
    readonly proceed: (key: ConversationKey, responder: Responder) => Effect.Effect<boolean, Failed>
    readonly use: (key: ConversationKey, responder: Responder, which: number | undefined) => Handled
    /** Lists the agents, or chooses one: an agent of the session, which is added if it is missing. */
    readonly agent: (key: ConversationKey, responder: Responder, name: string | undefined) => Handled
    /** Says how far the candidates of the session's newest group are, and where to compare them. Counts only. */
    readonly compare: (key: ConversationKey, responder: Responder) => Handled
    /** Shows the limits of the turns of the agent that receives messages here, or sets them. */
    readonly limit: (key: ConversationKey, responder: Responder, text: string) => Handled
  }
>()("corral/gateway/SessionCommands") {
  static readonly layer = Layer.effect(
    SessionCommands,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return SessionCommands.of({
        stop: (key, responder) => provide(stopAll(key, responder)),
        proceed: (key, responder) => provide(continueAll(key, responder)),
        use: (key, responder, which) => provide(chooseLocation(key, responder, which)),
        agent: (key, responder, name) => provide(chooseAgent(key, responder, name)),
        compare: (key, responder) => provide(compareCandidates(key, responder)),
        limit: (key, responder, text) => provide(setLimits(key, responder, text))
      })
    })
  )
}

/** Cancels the runs of the session that are in progress, also those that began elsewhere. Returns their number. */
const cancelRuns = Effect.fnUntraced(function* ({ account }: Responder, { activeRuns }: Session) {
  const hub = yield* Hub
  const cancelled = yield* Effect.filter(activeRuns, (id) =>
    hub
      .as(account, ({ runs }) => runs.cancel({ params: { id } }))
      .pipe(
        Effect.as(true),
        Effect.catchIf(
          (error) => error instanceof HubRefused && error.code === "run_not_cancellable",
          () => Effect.succeed(false)
        )
      )
  )
  return cancelled.length
})

const stopAll = Effect.fn("SessionCommands.stop")(function* (key: ConversationKey, responder: Responder) {
  const { session: current } = yield* (yield* ChatSessions).get(threadKeyOf(key))
  if (current === undefined) return yield* responder.reply(phrases.nothingHere)
  const session = yield* readSession(responder, current.id)
  if (session === undefined) return yield* responder.reply(phrases.foreignSession(key.key === key.chatKey))
  const open = yield* (yield* Follows).openIn({ ...responder.account, chatId: key.chatId })
  let count = 0
  // Latest first, so that none of them starts instead of a stopped one.
  for (const follow of open.filter(({ sessionId }) => sessionId === current.id).toReversed()) {
    const followed = followedOf(follow)
    if ("sessionId" in followed && (yield* stopMessage(responder, followed))) count += 1
  }
  const latest = yield* readSession(responder, current.id)
  if (latest !== undefined) count += yield* cancelRuns(responder, latest)
  yield* responder.reply(count === 0 ? phrases.nothingHere : phrases.cancelled)
})

const continueAll = Effect.fn("SessionCommands.continue")(function* (
  key: ConversationKey,
  responder: Responder
) {
  const hub = yield* Hub
  const { session: current } = yield* (yield* ChatSessions).get(threadKeyOf(key))
  const session = current && (yield* readSession(responder, current.id))
  const held = session?.agents.filter((agent) => agent.held !== undefined) ?? []
  for (const { id: agentInstanceId, sessionId: id } of held)
    yield* hub.as(responder.account, ({ sessions }) =>
      sessions.continueAgent({ params: { id, agentInstanceId } })
    )
  if (held.length > 0) yield* responder.reply(phrases.continued)
  return held.length > 0
})

const chooseLocation = Effect.fn("SessionCommands.use")(function* (
  key: ConversationKey,
  responder: Responder,
  which: number | undefined
) {
  const locations = yield* (yield* WorkLocations).of(responder.account)
  if (locations.length === 0) return yield* responder.reply(phrases.noLocations)
  if (which === undefined)
    return yield* (yield* LocationPicker).show(key, responder, locations, phrases.locationsTitle)
  const location = locations[which - 1]
  if (location === undefined) return yield* responder.reply(phrases.noSuchLocation)
  yield* (yield* ChatMessages).useLocation(key, responder, location.place)
})

/** The location of new messages here, with the agent that receives them. */
const presentPlace = Effect.fnUntraced(function* (
  key: ConversationKey,
  responder: Responder,
  chat: ChatSession,
  session: Session | undefined
) {
  const conversations = yield* Conversations
  const place =
    chat.place ??
    (yield* conversations.get(key.key)).place ??
    (yield* conversations.get(key.chatKey)).place ??
    (yield* (yield* WorkLocations).of(responder.account))[0]?.place
  const agent = session && recipientOf(session, chat.agent)
  if (place === undefined || agent === undefined) return place
  const { agentId, label, targetId, workspace } = agent
  const isThere = place.targetId === targetId && place.workspace === workspace
  const target = isThere ? place.names.target : workspace
  return { ...place, targetId, workspace, agentId, names: { ...place.names, target, agent: label } }
})

/** The Hub's reason why the agent can't have the limits, such as one that it does not count. */
const reasonIn = ({ code, details, message }: HubRefused): string | undefined => {
  if (code !== "schema_validation_failed") return details["reason"] === "edge_outdated" ? message : undefined
  // The documented details of this code.
  const [issue] = (details["issues"] ?? []) as ReadonlyArray<{ readonly message: string }>
  return issue?.message
}

const setLimits = Effect.fn("SessionCommands.limit")(function* (
  key: ConversationKey,
  responder: Responder,
  text: string
) {
  const { account, reply } = responder
  const chat = yield* (yield* ChatSessions).get(threadKeyOf(key))
  if (chat.session === undefined) return yield* reply(phrases.limitsLater)
  const session = yield* readSession(responder, chat.session.id)
  if (session === undefined) return yield* reply(phrases.foreignSession(key.key === key.chatKey))
  const agent = recipientOf(session, chat.agent)
  if (agent === undefined) return yield* reply(phrases.noAgent)
  if (text === "") return yield* reply(phrases.limitsAre(agent.label, typedLimits(agent)))
  const limits = parseLimits(text)
  if ("problem" in limits) return yield* reply(phrases.wrongLimits)
  const { budget = null, timeoutMs = null } = limits
  const hub = yield* Hub
  yield* hub
    .as(account, ({ sessions }) =>
      sessions.updateAgent({
        params: { id: session.id, agentInstanceId: agent.id },
        payload: { budget, timeoutMs }
      })
    )
    .pipe(
      Effect.flatMap((changed) => reply(phrases.limitsAre(changed.label, typedLimits(changed)))),
      Effect.catchIf(
        (error): error is HubRefused => error instanceof HubRefused && reasonIn(error) !== undefined,
        (refused) => reply(phrases.limitsRefused(reasonIn(refused) ?? ""))
      )
    )
})

const compareCandidates = Effect.fn("SessionCommands.compare")(function* (
  key: ConversationKey,
  responder: Responder
) {
  const { session: current } = yield* (yield* ChatSessions).get(threadKeyOf(key))
  const session = current && (yield* readSession(responder, current.id))
  const groupId = session?.agents.findLast((agent) => agent.groupId !== undefined)?.groupId
  if (groupId === undefined) return yield* responder.reply(phrases.nothingToCompare)
  const hub = yield* Hub
  const { candidates } = yield* hub.as(responder.account, ({ taskGroups }) =>
    taskGroups.get({ params: { id: groupId } })
  )
  yield* responder.replyWithCard(
    comparisonCard(candidates, hub.page(`/compare/${groupId}`), responder.language),
    "compare"
  )
})

/** Counts of a group, and the link to its comparison. */
const comparisonCard = (
  candidates: ReadonlyArray<GroupCandidate>,
  url: string,
  language: Responder["language"]
): Card => {
  const done = candidates.filter(({ run, task }) =>
    run === undefined ? isTaskOver(task.state) : run.endedAt !== undefined
  )
  const checked = candidates.filter(({ changes }) => changes?.checks?.endedAt !== undefined)
  const passed = checked.filter(({ changes }) =>
    changes?.checks?.results.every(({ state }) => state === "passed")
  )
  const files = candidates.reduce((sum, { changes }) => sum + (changes?.fileCount ?? 0), 0)
  return {
    language,
    title: phrases.compareTitle(candidates.length),
    tone: done.length < candidates.length ? "running" : "neutral",
    lines: [
      phrases.candidateStates(done.length, candidates.length),
      ...(checked.length === 0 ? [] : [phrases.checksPassed(passed.length, checked.length)]),
      ...(files === 0 ? [] : [phrases.filesToDecide(files)])
    ],
    buttons: [{ _tag: "Link", label: phrases.comparePage, url }]
  }
}

const chooseAgent = Effect.fn("SessionCommands.agent")(function* (
  key: ConversationKey,
  responder: Responder,
  name: string | undefined
) {
  const { account, reply } = responder
  const sessions = yield* ChatSessions
  const conversations = yield* Conversations
  const threadKey = threadKeyOf(key)
  const chat = yield* sessions.get(threadKey)
  const session = chat.session && (yield* readSession(responder, chat.session.id))
  if (chat.session !== undefined && session === undefined)
    return yield* reply(phrases.foreignSession(key.key === key.chatKey))
  const place = yield* presentPlace(key, responder, chat, session)
  if (place === undefined) return yield* reply(phrases.noLocations)
  const agents = yield* (yield* WorkLocations).agents(account, place)
  if (agents.length === 0) return yield* reply(phrases.noAgent)
  const wanted =
    name === undefined ? undefined : (findAgent(agents, name) ?? findAgent(agents, name.toLowerCase()))
  if (wanted === undefined) {
    const names = agents.map(({ id }) => id).join(", ")
    return yield* reply(
      name === undefined ? phrases.agentsAre(names, place.agentId) : phrases.noSuchAgent(names)
    )
  }
  const moved = { ...place, agentId: wanted.id, names: { ...place.names, agent: wanted.label } }
  if (session === undefined) {
    if (chat.place !== undefined) yield* sessions.set(threadKey, { place: moved })
    for (const each of new Set([key.chatKey, key.key]))
      yield* conversations.set(each, { ...(yield* conversations.get(each)), place: moved })
  } else {
    const { id } = yield* agentAt(responder, session, moved, responder.key)
    yield* sessions.set(threadKey, { ...chat, agent: id, place: moved })
  }
  yield* reply(phrases.agentIs(locationName(moved)))
})
