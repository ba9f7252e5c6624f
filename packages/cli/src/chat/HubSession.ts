/**
 * Session of a chat at a Hub: the agent that receives the next messages, and the feed of its changes, its messages and the events of its runs, across
 * lost connections.
 *
 * Guarantees: the session begins with the first message, once, also where a response was lost. Each run is followed once.
 */
import { transportOf } from "@corral/client/effect/EffectCalls"
import { streamOfBatches } from "@corral/client/effect/EventStreams"
import { newIdempotencyKey } from "@corral/client/http/Transport"
import { hubChanges } from "@corral/client/Hub"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { hubFailure } from "../hub/HubRefusal.ts"
import type { StoredSignIn } from "../hub/SignInFile.ts"
import type { RunServer } from "../run/RunServer.ts"
import type { AgentOption, ThreadMessage, ThreadUpdate } from "./ChatThread.ts"
import { followTurn } from "./FollowTurn.ts"
import type { AgentPlace } from "./HubPlace.ts"

const PAGE = 200

/** The session, and the agent that receives the next messages. */
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
        const { agentId, isolation, mode, targetId, workspace } = instance
        this.session = yield* this.calls.sessions.update({
          params: { id: session.id },
          payload: { defaultAgentInstanceId: instance.id }
        })
        this.place = { ...this.place, agentId, mode, isolation, targetId, workspace, instanceId: instance.id }
      }
    })
  }

  private addAgent(id: SessionId, place: AgentPlace, key: string) {
    const { agentId, isolation, mode, targetId, workspace } = place
    return Effect.gen({ self: this }, function* () {
      const instance = yield* this.calls.sessions.addAgent({
        params: { id },
        headers: { "idempotency-key": key },
        payload: { agentId, targetId, workspace, mode, ...(isolation === undefined ? {} : { isolation }) }
      })
      this.place = { ...place, instanceId: instance.id }
      this.session = yield* this.calls.sessions.get({ params: { id } })
    })
  }
}

interface SessionFeedOptions {
  readonly calls: HubApiClient
  readonly signIn: StoredSignIn
  readonly server: RunServer
  readonly session: HubSession
  readonly messageOf: (message: Message) => ThreadMessage
}

type Report = (update: ThreadUpdate) => void

const PAUSES_MS = [200, 5_000] as const

/**
 * Changes of a session for a chat: its messages, and the events of its runs, across lost connections.
 *
 * Guarantees: each run is followed once.
 */
export class SessionFeed {
  private readonly options: SessionFeedOptions
  private readonly calls: HubApiClient
  private readonly followed = new Set<RunId>()
  /** Version of the last message that was reported. */
  private version = 0
  private isTargetOffline: boolean
  /** Completes when the reader of the updates takes more. */
  private ready: Effect.Effect<void> = Effect.void

  constructor(options: SessionFeedOptions) {
    this.options = options
    this.calls = options.calls
    this.isTargetOffline = options.session.agent.isOffline
  }

  /** Whether the device of the agent is offline. */
  get isOffline(): boolean {
    return this.isTargetOffline
  }

  /** The latest messages, oldest first. */
  history(atMost: number) {
    return Effect.gen({ self: this }, function* () {
      const session = this.options.session.current
      if (session === undefined) return []
      const items = yield* this.latest(session.id, atMost)
      this.version = items.reduce((last, { version }) => Math.max(last, version), 0)
      yield* this.markRead(session.id, items[0])
      // After the messages: a run of theirs that is not in progress has ended. It may have begun since the session was opened.
      const active = new Set(yield* this.options.session.refresh(session.id))
      for (const { delivery } of items)
        if (delivery?.runId !== undefined && !active.has(delivery.runId)) this.followed.add(delivery.runId)
      return items.toReversed().map((message) => this.options.messageOf(message))
    })
  }

  /** Newest first. */
  private latest(id: SessionId, atMost: number) {
    return Effect.gen({ self: this }, function* () {
      const items: Array<Message> = []
      for (let cursor: string | null | undefined; cursor !== null && items.length < atMost;) {
        const query = {
          limit: Math.min(PAGE, atMost - items.length),
          ...(cursor === undefined ? {} : { cursor })
        }
        const page = yield* this.calls.sessions.messages({ params: { id }, query })
        items.push(...page.items)
        cursor = page.nextCursor
      }
      return items
    })
  }

  follow(report: Report, ready: Effect.Effect<void> = Effect.void): Effect.Effect<void, CommandFailed> {
    this.ready = ready
    const { session } = this.options
    return Effect.gen({ self: this }, function* () {
      const id = yield* session.id
      const scope = yield* Effect.scope
      for (const runId of session.current?.activeRuns ?? []) yield* this.followOnce(runId, report, scope)
      const refresh = yield* Queue.sliding<void>(1)
      const again = () => void Queue.offerUnsafe(refresh, undefined)
      again()
      const read = Effect.andThen(
        Queue.take(refresh),
        this.readChanges(id, report, scope).pipe(
          Effect.catchIf(
            ({ isTransient }) => isTransient === true,
            // The change feed reports the lost connection, and a refresh after it.
            () => Effect.asVoid(Effect.forkIn(Effect.delay(Effect.sync(again), "1 second"), scope))
          )
        )
      )
      yield* Effect.raceFirst(this.watch(id, report, again), Effect.forever(read))
    }).pipe(Effect.scoped)
  }

  /** Reads what changed, and follows new runs. */
  private readChanges(id: SessionId, report: Report, scope: Scope.Scope) {
    return Effect.gen({ self: this }, function* () {
      const changedAfter = this.version
      let latest: Message | undefined
      for (let cursor: string | null | undefined; cursor !== null;) {
        const query = { changedAfter, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }
        const page = yield* this.calls.sessions.messages({ params: { id }, query })
        for (const message of page.items) {
          report({ kind: "message", message: this.options.messageOf(message) })
          const { delivery } = message
          if (delivery?.state === "delivered" && delivery.runId !== undefined)
            yield* this.followOnce(delivery.runId, report, scope)
        }
        this.version = page.items.reduce((last, { version }) => Math.max(last, version), this.version)
        cursor = page.nextCursor
        latest = page.items.reduce(
          (last, each) => (last === undefined || each.id > last.id ? each : last),
          latest
        )
      }
      yield* this.markRead(id, latest)
    })
  }

  /** Moves the read position to a message that the chat shows. Not worth a failure. */
  private markRead(id: SessionId, message: Message | undefined): Effect.Effect<void> {
    return message === undefined
      ? Effect.void
      : Effect.ignore(this.calls.conversations.read({ params: { id }, payload: { messageId: message.id } }))
  }

  private followOnce(runId: RunId, report: Report, scope: Scope.Scope): Effect.Effect<void> {
    if (this.followed.has(runId)) return Effect.void
    this.followed.add(runId)
    const { server, session } = this.options
    const turn = followTurn(server, { runId, agent: session.agentLabel, report, ready: this.ready })
    return Effect.asVoid(Effect.forkIn(turn, scope))
  }

  /** Follows the change feed of the Hub. */
  private watch(id: SessionId, report: Report, again: () => void): Effect.Effect<void, CommandFailed> {
    const { session, signIn } = this.options
    const { hub, token } = signIn
    const onHint = (hint: ChangeHint): void => {
      if (hint.kind === "message" && hint.sessionId === id) again()
      if (hint.kind === "device" && hint.id === session.agent.targetId)
        this.isTargetOffline = hint.state !== "online"
    }
    const changes = streamOfBatches((signal) =>
      hubChanges(transportOf({ url: hub, token }), {
        signal,
        pauses: PAUSES_MS,
        onConnection: (state) => {
          report({ kind: "connection", state })
          if (state === "live") again()
        }
      })
    )
    const lost = new CommandFailed({ message: "Lost connection to the Hub.", exitCode: exitCodes.failed })
    return Stream.runForEach(changes, (hint) => Effect.sync(() => onHint(hint))).pipe(
      Effect.mapError(({ error }) => hubFailure(error, lost, hub))
    )
  }
}
