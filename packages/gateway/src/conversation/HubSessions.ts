/**
 * Calls to the Hub for the session of a chat. The idempotency keys follow from the event, so a retry of an event repeats no step.
 */
import type { AgentInstanceId, MessageId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import { Effect } from "effect"
import type { WorkLocation } from "../button/ButtonActions.ts"
import { Hub, type HubFailed, HubRefused } from "../hub/Hub.ts"
import type { ChatMessage } from "./Conversations.ts"
import type { Responder } from "../answer/Responder.ts"

type Caller = Pick<Responder, "account">

/** A key for a further step of an event. */
export const stepKey = (key: string, step: string): string => `${key}:${step}`.slice(0, 255)

/** `undefined` for a session that the account may not read, or that was deleted. */
export const readSession = Effect.fn("HubSessions.readSession")(function* (
  { account }: Caller,
  id: SessionId
): Effect.fn.Return<Session | undefined, HubFailed, Hub> {
  const hub = yield* Hub
  return yield* hub
    .as(account, ({ sessions }) => sessions.get({ params: { id } }))
    .pipe(
      Effect.catchIf(
        (error) => error instanceof HubRefused && error.code === "permission_denied",
        () => Effect.undefined
      )
    )
})

/** A new session with its agent. The first message gives it its title. */
export const createSession = Effect.fn("HubSessions.createSession")(function* (
  caller: Caller,
  place: WorkLocation,
  { key }: Pick<ChatMessage, "key">
) {
  const hub = yield* Hub
  const { id } = yield* hub.as(caller.account, ({ sessions }) =>
    sessions.create({ headers: { "idempotency-key": key }, payload: { projectId: place.projectId } })
  )
  yield* addAgent(caller, id, place, key)
  return id
})

/** Adds an agent, which becomes the session's default. A chat never starts a run with fewer questions than `ask`. */
export const addAgent = Effect.fn("HubSessions.addAgent")(function* (
  { account }: Caller,
  sessionId: SessionId,
  { agentId, targetId, workspace }: WorkLocation,
  key: string
) {
  const hub = yield* Hub
  return yield* hub.as(account, ({ sessions }) =>
    sessions.addAgent({
      params: { id: sessionId },
      headers: { "idempotency-key": stepKey(key, "agent") },
      payload: { agentId, targetId, workspace, mode: "ask" }
    })
  )
})

/** The agent of a session at a location: one that it has, or a new one. */
export const agentAt = Effect.fn("HubSessions.agentAt")(function* (
  caller: Caller,
  { agents, id }: Session,
  place: WorkLocation,
  key: string
) {
  const existing = agents.find(
    ({ agentId, targetId, workspace }) =>
      namesSameAgent(agentId, place.agentId) && targetId === place.targetId && workspace === place.workspace
  )
  return existing ?? (yield* addAgent(caller, id, place, key))
})

/** The agent that receives messages: the one that was chosen in the chat, or the session's default. */
export const recipientOf = (
  { agents, defaultAgentInstanceId }: Session,
  chosen: AgentInstanceId | undefined
): AgentInstance | undefined =>
  agents.find(({ id }) => id === chosen) ?? agents.find(({ id }) => id === defaultAgentInstanceId)

export interface SendOptions {
  /** Absent for the session's default. */
  readonly to?: AgentInstanceId | undefined
  /** Whether the message waits for an offline machine. */
  readonly queue: boolean
}

export const addMessage = Effect.fn("HubSessions.addMessage")(function* (
  { account }: Caller,
  sessionId: SessionId,
  { key, now, text }: ChatMessage,
  { queue, to }: SendOptions
) {
  const hub = yield* Hub
  return yield* hub.as(account, ({ sessions }) =>
    sessions.addMessage({
      params: { id: sessionId },
      headers: { "idempotency-key": queue ? stepKey(key, "queue") : key },
      payload: {
        text,
        when: now ? "now" : "next",
        onOffline: queue ? "queue" : "fail",
        ...(to === undefined ? {} : { to })
      }
    })
  )
})

/** Whether the account may write in the project. */
export const mayWriteIn = Effect.fn("HubSessions.mayWriteIn")(function* (
  { account }: Caller,
  projectId: ProjectId
) {
  const hub = yield* Hub
  return yield* hub
    .as(account, ({ projects }) => projects.get({ params: { id: projectId } }))
    .pipe(
      Effect.map(({ role }) => role !== "viewer"),
      Effect.catchIf(
        (error) => error instanceof HubRefused && error.code === "permission_denied",
        () => Effect.succeed(false)
      )
    )
})

/** A message of a session, to be stopped. */
export interface StoppableMessage {
  readonly sessionId: SessionId
  readonly messageId: MessageId
}

/** `starting`: its task is on the way to the machine, and can be cancelled once its run is known. */
type Stopped = "stopped" | "ended" | "starting"

const isConflict = (error: unknown): boolean =>
  error instanceof HubRefused && (error.code === "run_not_cancellable" || error.code === "conflict")

const tryToStop = Effect.fnUntraced(function* (
  { account }: Caller,
  { messageId, sessionId: id }: StoppableMessage
): Effect.fn.Return<Stopped, HubFailed, Hub> {
  const hub = yield* Hub
  const params = { id, messageId }
  const { delivery } = yield* hub.as(account, ({ sessions }) => sessions.message({ params }))
  if (delivery === undefined || delivery.state === "failed" || delivery.state === "withdrawn") return "ended"
  const isPending = delivery.state === "pending"
  const { taskId } = delivery
  if (!isPending && taskId === undefined) return "ended"
  const stop = hub.as(account, ({ sessions, tasks }): Effect.Effect<unknown, HubFailed> =>
    taskId === undefined ? sessions.withdrawMessage({ params }) : tasks.cancel({ params: { id: taskId } })
  )
  return yield* stop.pipe(
    Effect.as<Stopped>("stopped"),
    Effect.catchIf(isConflict, () => Effect.succeed<Stopped>(isPending ? "starting" : "ended"))
  )
})

const STARTING_LOOKS = 20
const STARTING_PAUSE = "250 millis"

/** Stops a message: withdraws it, or cancels its run. Returns whether there was something to stop. */
export const stopMessage = Effect.fn("HubSessions.stopMessage")(function* (
  caller: Caller,
  message: StoppableMessage
) {
  for (let looks = 1; looks < STARTING_LOOKS; looks++) {
    const outcome = yield* tryToStop(caller, message)
    if (outcome !== "starting") return outcome === "stopped"
    yield* Effect.sleep(STARTING_PAUSE)
  }
  return (yield* tryToStop(caller, message)) === "stopped"
})
