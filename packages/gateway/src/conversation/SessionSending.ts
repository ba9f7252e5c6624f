/** Sending of one message in a session that exists: its agent, the Hub's refusals as answers, and the beginning of following. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { Follows } from "../following/Follows.ts"
import { MessageFollower } from "../following/MessageFollower.ts"
import type { Hub } from "../hub/Hub.ts"
import type { HubFailed, HubRefused } from "../hub/HubFailures.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import type { ChatSession } from "./ChatSessions.ts"
import type { ChatMessage, ConversationKey } from "./Conversations.ts"
import { addAgent, addMessage, readSession, recipientOf } from "./HubSessions.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

/** Name for people: project, machine with workspace, agent. */
const placeOf = ({ place }: ChatSession, { label, targetId, workspace }: AgentInstance): string => {
  if (place === undefined) return `${workspace} · ${label}`
  const isThere = place.targetId === targetId && place.workspace === workspace
  return `${place.names.project} · ${isThere ? place.names.target : workspace} · ${label}`
}

/** Answer to a refusal that has its own words for a message; `undefined` for others. */
const answerTo = ({ code, details }: HubRefused, { now }: ChatMessage): LocalizedText | undefined => {
  if (code === "conflict" && now) return phrases.noInput
  return code === "permission_denied" && "modes" in details ? phrases.tooWideMode : undefined
}

/** `offline`: the machine is offline, and the message was not sent. `done`: it was sent, or the user knows why it was not. */
export type Sending = "done" | "offline"

/** The user knows why the message was not sent. */
export const answered = <E, R>(reply: Effect.Effect<void, E, R>): Effect.Effect<Sending, E, R> =>
  Effect.as(reply, "done")

export const sendInSession = Effect.fn("SessionSending.sendInSession")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage,
  chat: ChatSession,
  queue: boolean
): Effect.fn.Return<
  Sending,
  HubFailed | PlatformUnavailable | SqlError.SqlError,
  Follows | Hub | MessageFollower
> {
  const { account, language, reply } = responder
  const session = chat.session && (yield* readSession(responder, chat.session.id))
  if (session === undefined) return yield* answered(reply(phrases.foreignSession(message.direct)))
  if (session.state !== "active") return yield* answered(reply(phrases.sessionEnded))
  let recipient = recipientOf(session, chat.agent)
  if (recipient === undefined) {
    // All agents were removed from the session.
    if (chat.place === undefined) return yield* answered(reply(phrases.noAgent))
    recipient = yield* addAgent(responder, session.id, chat.place, message.key)
  }
  const to = recipient.id === chat.agent ? recipient.id : undefined
  const sent = yield* addMessage(responder, session.id, message, { queue, to }).pipe(
    Effect.catchTag("HubRefused", (refused): Effect.Effect<Sending, HubRefused | PlatformUnavailable> => {
      if (refused.code === "target_offline") return Effect.succeed("offline")
      const answer = answerTo(refused, message)
      return answer === undefined ? Effect.fail(refused) : answered(reply(answer))
    })
  )
  if (typeof sent === "string") return sent
  yield* (yield* Follows).begin({
    id: sent.id,
    sessionId: session.id,
    account,
    chatId: key.chatId,
    replyTo: message.replyTo,
    threadId: message.threadId,
    direct: message.direct,
    language,
    place: placeOf(chat, recipient),
    isInput: sent.when === "now"
  })
  yield* (yield* MessageFollower).wake
  return "done"
})
