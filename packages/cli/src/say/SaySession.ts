/** Session and agent of a message from the command line. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import type { SessionId } from "@corral/domain/identity/Ids"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { type AgentPlace, placeOfSession, type PlaceFlags, selectPlace } from "../chat/HubPlace.ts"
import { activeSessions } from "../chat/OpenHubChat.ts"
import type { RunServerChoice } from "../Flags.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { resolveSessionId } from "../run/IdArguments.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

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
  const { mode, targetId, workspace } = place
  const payload = { agentId, mode, targetId, workspace }
  return calls.sessions.addAgent({ params: { id }, headers: { "idempotency-key": randomUUID() }, payload })
}

const matching = ({ agents }: Session, wanted: string): ReadonlyArray<AgentInstance> => {
  const named = agents.filter(({ agentId, id, label }) => [agentId, id, label].includes(wanted))
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
export const findSession = Effect.fn("SaySession.find")(function* (
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
