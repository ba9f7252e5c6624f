/**
 * One client of the host: its channels, and the log from which it continues after a lost connection. It lives longer than a connection.
 *
 * Guarantees: a client belongs to the caller that it began with. What it receives has growing numbers, which begin at the microseconds of its start: those
 * of an earlier process are smaller. A hint of the backend leads to one read at a time.
 * Does not: read messages (`Requests`, `Dispatches`), or hold a socket.
 */
import { type Failure, WorkspaceOutsideAllowlist } from "@corral/domain/errors/Failures"
import type { SessionId } from "@corral/domain/identity/Ids"
import { Effect, type Fiber, Queue, Stream } from "effect"
import { agentInfo, type PlacedSession, sessionSummary } from "./SessionViews.ts"
import type { RootAction, SentAction, StateAction } from "../protocol/Actions.ts"
import { ROOT, sessionAddress, providerOf } from "../protocol/Addresses.ts"
import { remember } from "../fold/CallFold.ts"
import { actionMessage, type Dispatch, notification } from "../protocol/Messages.ts"
import type { RootState } from "../protocol/State.ts"
import { rootReducer } from "../reducers/ChannelReducers.ts"
import type {
  HostAgent,
  HostBackend,
  HostHint,
  HostMessage,
  HostSession,
  HostWorkspace,
  SentMessage
} from "./HostBackend.ts"
import { ReplayLog } from "./ReplayLog.ts"

/** Where a client's messages go while it is connected. */
export interface HostSocket {
  readonly send: (message: string) => void
  readonly close: (code: number, reason: string) => void
}

/** Origin of an action that a client sent. */
export interface Origin {
  readonly clientId: string
  readonly clientSeq: number
}

/** A channel that the client is subscribed to. */
export interface Channel {
  readonly address: string
  /** The session that it belongs to. */
  readonly sessionId?: SessionId
  /** Whether what it shows has left its address. */
  readonly isGone?: boolean
  readonly snapshot: () => unknown
  /** Applies an action to the state. */
  readonly reduce: (action: StateAction) => void
  /** Reads again what a hint was about. */
  readonly refresh: (session: HostSession) => void
  readonly close: () => void
}

/** A session that a client has created and that has no message yet. It exists here only. */
export interface Draft extends PlacedSession {
  /** Why it takes no message. */
  readonly refusal?: string
  /** Line of its first turn. */
  readonly notice?: string
}

export interface HostClientOptions {
  readonly clientId: string
  readonly backend: HostBackend
  readonly now: () => number
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

export const MAX_CHANNELS = 256
const MAX_DRAFTS = 64
const MAX_WAITING = 1_000
/** Size of the actions that wait, in characters of their messages. */
const MAX_WAITING_SIZE = 4_194_304
/** Sessions whose changes the client hears of. */
const MAX_LISTED = 5_000
/** Largest configuration that a client can have at the root, in characters. */
const MAX_CONFIG = 262_144

export class HostClient implements Channel {
  readonly address = ROOT
  readonly clientId: string
  readonly backend: HostBackend
  readonly log: ReplayLog
  readonly channels = new Map<string, Channel>()
  readonly drafts = new Map<SessionId, Draft>()
  agents: ReadonlyArray<HostAgent> = []
  workspaces: ReadonlyArray<HostWorkspace> = []
  private readonly options: HostClientOptions
  private readonly fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  private readonly dirty = new Set<SessionId>()
  private readonly waiting = Effect.runSync(
    Queue.dropping<{ readonly dispatch: Dispatch; readonly size: number }>(MAX_WAITING)
  )
  private waitingSize = 0
  private readonly wake = Effect.runSync(Queue.sliding<void>(1))
  /** Sessions in the lists and notifications that the client has received, with their addresses. */
  private readonly listed = new Map<SessionId, string>()
  /** Addresses that the client has chosen itself. */
  private readonly addresses = new Map<SessionId, string>()
  private root: RootState = { agents: [], config: { schema: { type: "object", properties: {} }, values: {} } }
  private socket: HostSocket | undefined
  private isClosed = false

  constructor(options: HostClientOptions) {
    this.options = options
    this.clientId = options.clientId
    this.backend = { ...options.backend, send: (message) => this.send(message) }
    this.log = new ReplayLog(Math.floor(options.now() * 1_000))
  }

  private send(message: HostMessage): Effect.Effect<SentMessage, Failure> {
    const refusal = this.drafts.get(message.sessionId)?.refusal
    return refusal === undefined
      ? this.options.backend.send(message)
      : Effect.fail(new WorkspaceOutsideAllowlist({ message: refusal }))
  }

  /** Reads what the root shows, and follows hints from now on. */
  readonly start: Effect.Effect<void, Failure> = Effect.suspend(() => {
    this.run(
      Stream.runForEach(this.backend.hints, (hint) => Effect.sync(() => this.takeHint(hint))).pipe(
        Effect.ensuring(Effect.sync(() => this.end(1011, "the service stopped sending changes")))
      )
    )
    this.run(Effect.forever(Effect.andThen(Queue.take(this.wake), this.readDirty)))
    this.run(Effect.flatMap(this.backend.ended, (reason) => Effect.sync(() => this.end(4403, reason))))
    return this.readAgents
  })

  private readonly readAgents = Effect.suspend(() =>
    Effect.map(Effect.all([this.backend.agents, this.backend.workspaces]), ([agents, workspaces]) => {
      this.agents = agents
      this.workspaces = workspaces
      const action: RootAction = { type: "root/agentsChanged", agents: agents.map(agentInfo) }
      if (JSON.stringify(this.root.agents) === JSON.stringify(action.agents)) return
      if (this.channels.has(ROOT)) this.publish(this, action)
      else this.root = rootReducer(this.root, action)
    })
  )

  /** The time, ISO 8601. */
  timeText(): string {
    return new Date(this.options.now()).toISOString()
  }

  get isConnected(): boolean {
    return this.socket !== undefined
  }

  attach(socket: HostSocket): void {
    const before = this.socket
    this.socket = socket
    before?.close(1000, "another connection of this client")
  }

  /** The connection is lost. The client continues until it is closed. */
  detach(socket: HostSocket): void {
    if (this.socket === socket) this.socket = undefined
  }

  /** Takes an action to carry out in its turn, also while the client is away. `false`: too much waits. */
  offer(dispatch: Dispatch, size: number): boolean {
    if (this.waitingSize + size > MAX_WAITING_SIZE) return false
    if (!Queue.offerUnsafe(this.waiting, { dispatch, size })) return false
    this.waitingSize += size
    return true
  }

  /** The next action of the client. */
  readonly nextDispatch: Effect.Effect<Dispatch> = Effect.suspend(() =>
    Effect.map(Queue.take(this.waiting), ({ dispatch, size }) => {
      this.waitingSize -= size
      return dispatch
    })
  )

  /** Forks work of this client, which ends with it. A request can still be in progress when the client ends: its work does not begin. */
  run<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    const fiber = this.options.fork(this.isClosed ? Effect.interrupt : effect)
    this.fibers.add(fiber)
    fiber.addObserver(() => this.fibers.delete(fiber))
    return fiber
  }

  /** Ends the client: nothing of it can be replayed. */
  close(): void {
    this.isClosed = true
    for (const channel of this.channels.values()) if (channel !== this) channel.close()
    this.channels.clear()
    for (const fiber of this.fibers) fiber.interruptUnsafe()
    this.fibers.clear()
  }

  /** Ends the client and its connection. */
  end(code: number, reason: string): void {
    if (this.isClosed) return
    const { socket } = this
    this.socket = undefined
    socket?.close(code, reason)
    this.close()
  }

  get hasEnded(): boolean {
    return this.isClosed
  }

  snapshot(): RootState {
    return this.root
  }

  reduce(action: StateAction): void {
    this.root = rootReducer(this.root, action as RootAction) // actions of other channels change nothing
  }

  refresh(): void {
    // Agents have hints of their own.
  }

  /** Sends an action to the client, and keeps it for a replay. */
  publish(channel: Channel, action: StateAction, origin?: Origin): void {
    channel.reduce(action)
    this.record(channel.address, action, origin)
  }

  /** Answers an action of the client that changes nothing. The reason is for logs: clients do not show it. */
  reject({ action, channel, clientSeq }: Dispatch, rejectionReason: string): void {
    this.record(channel, action, { clientId: this.clientId, clientSeq }, rejectionReason)
  }

  private record(
    channel: string,
    action: StateAction | SentAction,
    origin: Origin | undefined,
    rejectionReason?: string
  ): void {
    const envelope = {
      channel,
      action,
      serverSeq: this.log.next(),
      ...(origin === undefined ? {} : { origin }),
      ...(rejectionReason === undefined ? {} : { rejectionReason })
    }
    const message = actionMessage(envelope)
    this.log.add(envelope, message.length)
    this.socket?.send(message)
  }

  /** Notifications of the root are not replayed: a client lists again. */
  private notify(method: string, params: Readonly<Record<string, unknown>>): void {
    if (this.channels.has(ROOT)) this.socket?.send(notification(method, { channel: ROOT, ...params }))
  }

  open(channel: Channel): void {
    const before = this.channels.get(channel.address)
    if (before !== channel && before !== undefined && before !== this) before.close()
    this.channels.set(channel.address, channel)
  }

  unsubscribe(address: string): void {
    const channel = this.channels.get(address)
    this.channels.delete(address)
    if (channel !== this) channel?.close()
  }

  agentOf(provider: string | undefined): HostAgent | undefined {
    return this.agents.find(({ id }) => providerOf(id) === provider)
  }

  addDraft(draft: Draft): boolean {
    if (this.drafts.size >= MAX_DRAFTS) return false
    this.drafts.set(draft.session.id, draft)
    this.nameSession(draft.session.id, draft.address)
    return true
  }

  /** The client uses this address for the session. */
  nameSession(id: SessionId, address: string): void {
    remember(this.addresses, id, address, MAX_LISTED)
  }

  /** A session with its address and folder. `undefined`: its workspace is not one of the connection. */
  place(session: HostSession): PlacedSession | undefined {
    const workspace = this.workspaces.find(({ id }) => id === session.workspace)
    const address = this.addresses.get(session.id) ?? sessionAddress(providerOf(session.agentId), session.id)
    return workspace === undefined ? undefined : { session, address, folder: workspace.folder }
  }

  /** The client lists the session, or the host has announced it. */
  list({ address, session }: PlacedSession): void {
    const { id } = session
    remember(this.listed, id, address, MAX_LISTED)
  }

  /** Echoes a configuration that the client keeps at the root. The host never obeys it. `false`: too large. */
  configure(action: RootAction, origin: Origin): boolean {
    const next = rootReducer(this.root, action)
    if (JSON.stringify(next.config?.values).length > MAX_CONFIG) return false
    this.publish(this, action, origin)
    return true
  }

  /** Reads a session again, and tells the client. */
  touch(id: SessionId): void {
    this.dirty.add(id)
    Queue.offerUnsafe(this.wake, undefined)
  }

  private takeHint(hint: HostHint): void {
    switch (hint.kind) {
      case "session":
        return this.touch(hint.sessionId)
      case "sessions":
        for (const id of this.listed.keys()) this.touch(id)
        // A client can subscribe to what it has not listed.
        for (const { sessionId } of this.channels.values()) if (sessionId !== undefined) this.touch(sessionId)
        return
      case "agents":
        this.run(Effect.ignore(this.readAgents))
    }
  }

  private readonly readDirty: Effect.Effect<void> = Effect.suspend(() => {
    const ids = [...this.dirty]
    this.dirty.clear()
    return Effect.forEach(ids, (id) => this.readSession(id), { discard: true })
  })

  private readSession(id: SessionId): Effect.Effect<void> {
    return Effect.match(this.backend.session(id), {
      onSuccess: (session) => this.announce(session),
      onFailure: ({ code }) => {
        // Any other failure is of the moment: the next hint reads again.
        if (code === "not_found" || code === "permission_denied") this.remove(id)
      }
    })
  }

  private announce(session: HostSession): void {
    const placed = this.place(session)
    if (placed === undefined) return
    this.drafts.delete(session.id)
    const summary = sessionSummary(placed)
    if (this.listed.has(session.id))
      this.notify("root/sessionSummaryChanged", { session: placed.address, changes: summary })
    else this.notify("root/sessionAdded", { summary })
    this.list(placed)
    for (const channel of this.channels.values())
      if (channel.sessionId === session.id) channel.refresh(session)
  }

  private remove(id: SessionId): void {
    if (this.drafts.has(id)) return
    const address = this.listed.get(id)
    this.listed.delete(id)
    for (const channel of this.channels.values())
      if (channel.sessionId === id) this.unsubscribe(channel.address)
    if (address !== undefined) this.notify("root/sessionRemoved", { session: address })
  }
}
