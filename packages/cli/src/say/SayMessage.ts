/** A message from the command line: its session and agent, and its answer, which is the final text of the run that received it. */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { type AgentPlace, type PlaceFlags, placeOfSession, selectPlace } from "../chat/HubPlace.ts"
import { activeSessions } from "../chat/OpenChat.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { resolveSessionId } from "../run/IdArguments.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const LOOK_EVERY = "500 millis"
/** Looks in a row that fail, before the wait ends. */
const MAX_LOST = 120

const undelivered = ({ delivery, id }: Message): CommandFailed | undefined =>
  delivery?.state === "failed" || delivery?.state === "withdrawn"
    ? new CommandFailed({
        message:
          delivery.state === "withdrawn"
            ? `Message ${id} was withdrawn.`
            : `Message ${id} was not delivered: ${escapeLine(delivery.error?.message ?? "no reason was reported.")}`,
        exitCode: exitCodes.failed,
        code: delivery.error?.code
      })
    : undefined

/** Reports each approval and each question of the run once: it waits for a person. */
const reportRequests = Effect.fnUntraced(function* (calls: HubApiClient, runId: RunId, seen: Set<string>) {
  const host = yield* Host
  const report = (id: string, text: string): void => {
    if (!seen.has(id)) host.warn(`${text}\n`)
    seen.add(id)
  }
  const query = { runId, state: "pending", limit: 200 } as const
  for (const { id, request } of (yield* calls.approvals.list({ query })).items)
    report(id, `needs a decision: ${escapeLine(request.title)}. \`${host.invocation} approvals allow ${id}\``)
  for (const { id, title } of (yield* calls.inputs.list({ query })).items)
    report(id, `needs an answer: ${escapeLine(title)}. \`${host.invocation} answer ${id}\``)
})

/** The answer to a message: the final text of the run that received it. */
export const awaitAnswer = Effect.fn("SayMessage.awaitAnswer")(function* (
  calls: HubApiClient,
  message: Message
) {
  const params = { id: message.sessionId }
  const seen = new Set<string>()
  let version = message.version - 1
  let runId = message.delivery?.runId
  let lost = 0
  const look = Effect.gen(function* () {
    const query = { changedAfter: version, limit: 200 }
    const { items } = yield* calls.sessions.messages({ params, query })
    lost = 0
    for (const each of items) {
      version = Math.max(version, each.version)
      if (each.id === message.id) {
        const failure = undelivered(each)
        if (failure !== undefined) return yield* failure
        runId = each.delivery?.runId ?? runId
      }
      // Answers come after the message. The text of a turn is one only at the end of the run.
      const isAnswer = each.author.kind === "agent" && (each.turn === undefined || each.outcome !== undefined)
      if (isAnswer && runId !== undefined && each.runId === runId) return each
    }
    if (runId !== undefined) yield* reportRequests(calls, runId, seen)
    return undefined
  }).pipe(
    Effect.catchIf(
      ({ isTransient }) => isTransient === true && ++lost < MAX_LOST,
      () => Effect.undefined
    )
  )
  for (;;) {
    const answer = yield* look
    if (answer !== undefined) return answer
    yield* Effect.sleep(LOOK_EVERY)
  }
})

export interface SayRequest {
  readonly choice: RunServerChoice
  readonly flags: PlaceFlags
  readonly session: Option.Option<string>
  readonly isNew: boolean
}

const SHOWN = 10

/** The session with this id, the only active one, or a new one if there is none. */
const findSessionId = Effect.fnUntraced(function* (
  calls: HubApiClient,
  { choice, isNew, session }: SayRequest
) {
  if (isNew) return undefined
  const sessions = activeSessions(calls, choice)
  if (Option.isSome(session)) return yield* resolveSessionId(sessions)(session.value)
  const all = yield* sessions
  if (all.length < 2) return all[0]?.id
  const lines = all.slice(0, SHOWN).map(({ id, title }) => `  ${id}  ${escapeLine(title)}`)
  return yield* refused(["Choose a session with --session, or begin one with --new:", ...lines].join("\n"))
})

const addAgent = (calls: HubApiClient, id: SessionId, place: AgentPlace, agentId: AgentPlace["agentId"]) => {
  const { isolation, mode, targetId, workspace } = place
  const payload = { agentId, mode, targetId, workspace, ...(isolation === undefined ? {} : { isolation }) }
  return calls.sessions.addAgent({ params: { id }, headers: { "idempotency-key": randomUUID() }, payload })
}

const matching = ({ agents }: Session, wanted: string): ReadonlyArray<AgentInstance> => {
  const named = agents.filter(
    ({ agentId, id, label }) => [id, label].includes(wanted) || namesSameAgent(agentId, wanted)
  )
  return named.length > 0 ? named : agents.filter(({ id }) => wanted.length > 5 && id.startsWith(wanted))
}

/** The agent of the session with this name, or a new one next to the default agent. */
const findAgent = Effect.fnUntraced(function* (calls: HubApiClient, session: Session, wanted: string) {
  const found = matching(session, wanted).at(-1)
  if (found !== undefined) return found
  const place = yield* placeOfSession(calls, session)
  if (place === undefined) return undefined
  return yield* addAgent(calls, session.id, place, wanted as AgentPlace["agentId"]) // the Hub validates it
})

const begin = Effect.fnUntraced(function* (calls: HubApiClient, flags: PlaceFlags) {
  const place = yield* selectPlace(calls, flags, false)
  const headers = { "idempotency-key": randomUUID() }
  const session = yield* calls.sessions.create({ headers, payload: { projectId: place.projectId } })
  const agent = yield* addAgent(calls, session.id, place, place.agentId)
  return { sessionId: session.id, agent }
})

/** Session of the message, and its agent. Without one the message goes to the default agent. */
export const findSession = Effect.fn("SayMessage.findSession")(function* (
  calls: HubApiClient,
  request: SayRequest
): Effect.fn.Return<
  { readonly sessionId: SessionId; readonly agent: AgentInstance | undefined },
  CommandFailed,
  Effect.Services<ReturnType<typeof begin>>
> {
  const { flags } = request
  const id = yield* findSessionId(calls, request)
  if (id === undefined) return yield* begin(calls, flags)
  const session = yield* calls.sessions.get({ params: { id } })
  const wanted = Option.getOrUndefined(flags.agent)
  if (wanted !== undefined && session.agents.length > 0)
    return { sessionId: id, agent: yield* findAgent(calls, session, wanted) }
  if (session.agents.length > 0) return { sessionId: id, agent: undefined }
  const place = yield* selectPlace(
    calls,
    { ...flags, project: Option.some<string>(session.projectId) },
    false
  )
  return { sessionId: id, agent: yield* addAgent(calls, id, place, place.agentId) }
})
