/**
 * Session of a chat at a Hub, and the agent that receives the next messages.
 *
 * Guarantees: the session begins with the first message, once, also where a response was lost.
 */
import { namesSameAgent } from "@corral/domain/offer/Offer"
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Session } from "@corral/domain/session/Session"
import { Deferred, Effect } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import type { AgentOption } from "./ChatThread.ts"
import type { AgentPlace } from "./HubPlace.ts"

const PAGE = 200

export class HubSession {
  private readonly calls: HubApiClient
  private readonly sessionKey = newIdempotencyKey()
  private readonly agentKey = newIdempotencyKey()
  private readonly started = Deferred.makeUnsafe<SessionId>()
  private session: Session | undefined
  private place: AgentPlace

  /** Without a session, the first message begins one. */
  constructor(calls: HubApiClient, place: AgentPlace, session: Session | undefined) {
    this.calls = calls
    this.place = place
    this.session = session
    if (session !== undefined) Deferred.doneUnsafe(this.started, Effect.succeed(session.id))
  }

  get current(): Session | undefined {
    return this.session
  }

  /** The agent of the next messages, and where it works. */
  get agent(): AgentPlace {
    return this.place
  }

  /** Name of the agent, as the session has it. */
  get agentLabel(): string {
    const instance = this.session?.agents.find(({ id }) => id === this.place.instanceId)
    return instance?.label ?? this.place.agentId
  }

  /** Waits for the first message. */
  get id(): Effect.Effect<SessionId> {
    return Deferred.await(this.started)
  }

  /** The session, which the first message begins. */
  readonly begin = Effect.gen({ self: this }, function* () {
    const { projectId } = this.place
    this.session ??= yield* this.calls.sessions.create({
      headers: { "idempotency-key": this.sessionKey },
      payload: { projectId }
    })
    const { id } = this.session
    if (this.place.instanceId === undefined) yield* this.addAgent(id, this.place, this.agentKey)
    Deferred.doneUnsafe(this.started, Effect.succeed(id))
    return id
  })

  /** Reads the session again. Returns its runs in progress. */
  readonly refresh = (id: SessionId): Effect.Effect<Session["activeRuns"], CommandFailed> =>
    Effect.map(this.calls.sessions.get({ params: { id } }), (session) => {
      this.session = session
      return session.activeRuns
    })

  get agents() {
    return Effect.gen({ self: this }, function* () {
      const { agentId, projectId, targetId, workspace } = this.place
      const { items } = yield* this.calls.devices.targets({ query: { projectId, limit: PAGE } })
      const offered = items.find(({ id }) => id === targetId)?.agents ?? []
      const instances = this.session?.agents ?? []
      const options: Array<AgentOption> = instances.map(
        ({ agentId: name, id, label, workspace: folder }) => ({
          id,
          name,
          about: folder === workspace ? label : `${label} in ${folder}`,
          isCurrent: id === this.place.instanceId
        })
      )
      for (const { available, id, label } of offered)
        if (available && !instances.some((each) => namesSameAgent(each.agentId, id)))
          options.push({
            id,
            name: id,
            about: label,
            isCurrent: this.session === undefined && id === agentId
          })
      return options
    })
  }

  chooseAgent({ id, name }: AgentOption): Effect.Effect<void, CommandFailed> {
    return Effect.gen({ self: this }, function* () {
      const { session } = this
      const instance = session?.agents.find((each) => each.id === id)
      const chosen = { ...this.place, agentId: name as AgentPlace["agentId"] } // a name of an offered agent
      if (session === undefined) this.place = chosen
      else if (instance === undefined) yield* this.addAgent(session.id, chosen, newIdempotencyKey())
      else {
        const { agentId, mode, targetId, workspace } = instance
        this.session = yield* this.calls.sessions.update({
          params: { id: session.id },
          payload: { defaultAgentInstanceId: instance.id }
        })
        this.place = { ...this.place, agentId, mode, targetId, workspace, instanceId: instance.id }
      }
    })
  }

  private addAgent(id: SessionId, place: AgentPlace, key: string) {
    const { agentId, mode, targetId, workspace } = place
    return Effect.gen({ self: this }, function* () {
      const instance = yield* this.calls.sessions.addAgent({
        params: { id },
        headers: { "idempotency-key": key },
        payload: { agentId, targetId, workspace, mode }
      })
      this.place = { ...place, instanceId: instance.id }
      this.session = yield* this.calls.sessions.get({ params: { id } })
    })
  }
}
