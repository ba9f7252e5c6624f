/**
 * Channel of one chat: the turns of an agent's runs, folded from their events, and the run in progress.
 *
 * Guarantees: the first snapshot has everything that had happened when it was asked for. Each event is folded once. A turn that the client has begun has the id
 * that the client gave it.
 * Does not: decide anything. `Dispatches` carries out what the client sends.
 */
import type { Failure } from "@corral/domain/errors/Failures"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { Effect, type Fiber, Queue, Stream } from "effect"
import { remember, type NestedChatAction } from "../fold/CallFold.ts"
import { hasEnded, RunFold } from "../fold/RunFold.ts"
import {
  addressOfChat,
  chatSummary,
  emptyChat,
  type PlacedSession,
  queuedMessage,
  waitingIdOf
} from "./SessionViews.ts"
import type { ChatAction, StateAction } from "../protocol/Actions.ts"
import { nestedChatAddress } from "../protocol/Addresses.ts"
import { ACTIVITY_BITS, type ChatState, type Turn } from "../protocol/State.ts"
import { chatReducer } from "../reducers/ChatReducer.ts"
import type { HostChat, HostRun, HostSession, SentMessage, WaitingMessage } from "./HostBackend.ts"
import type { Channel, HostClient, Origin } from "./HostClient.ts"
import { SessionChannel } from "./SessionChannel.ts"
import { NestedChatChannel } from "./NestedChatChannel.ts"

/** Runs that are read at a time, in a snapshot and in each older page. */
const PAGE = 5
/** Runs of a snapshot. */
const MAX_RUNS = 20
/** Events of a snapshot, after which no further page of runs is read. */
const MAX_EVENTS = 20_000
/** Runs that are read at a time to find those after the last one. */
const NEW_RUNS = 50
/** Chats of sub-agents that are remembered. */
const MAX_NESTED_CHATS = 1_000
/** Lines about refusals in one turn. */
const MAX_LINES = 100
/** Turns that the client has begun and whose run is not known yet. */
const MAX_KEYS = 1_000

/** A turn that the client has begun. */
export interface BegunTurn {
  readonly turnId: string
  readonly text: string
  readonly origin: Origin | undefined
  /** Id of the message that waited for the turn. */
  readonly queuedMessageId?: string
  /** Called before the client hears of the turn: it can begin before the service has answered. */
  readonly onStart?: () => void
}

/** Changes of what waits for a person. */
const needing: ReadonlySet<ChatAction["type"]> = new Set([
  "chat/turnStarted",
  "chat/toolCallReady",
  "chat/toolCallConfirmed",
  "chat/toolCallComplete",
  "chat/inputRequested",
  "chat/inputAnswerChanged",
  "chat/inputCompleted",
  "chat/turnComplete",
  "chat/turnCancelled",
  "chat/error"
])

export class ChatChannel implements Channel {
  readonly address: string
  readonly sessionId: SessionId
  placed: PlacedSession
  chat: HostChat
  /** Whether the agent has left the session. The service refuses its messages: they are for no other agent. */
  isGone = false
  /** The fold of the run in progress, or of the last one. */
  fold: RunFold | undefined
  /** The run in progress, or the last one. */
  run: RunId | undefined
  private readonly client: HostClient
  private state: ChatState
  private readonly wake = Effect.runSync(Queue.sliding<void>(1))
  /** Wakes what looks after a run without events. */
  private readonly look = Effect.runSync(Queue.sliding<void>(1))
  /** Turns that the client has begun, by the run that has them. */
  private readonly keys = new Map<RunId, string>()
  private beginnings: ReadonlyArray<BegunTurn> = []
  /** Messages that waited when the chat was read, and whose turns have not begun. */
  private waiting: ReadonlyArray<WaitingMessage> = []
  /** Calls of the service that begin a turn: a run that begins meanwhile waits until its turn is known. */
  private sending = 0
  /** Chats of sub-agents, by their addresses. */
  readonly nestedChats = new Map<string, NestedChatChannel>()
  private follower: Fiber.Fiber<unknown, unknown> | undefined
  private olderCursor: string | null = null
  /** Lines about refusals in the turn that had the last one. */
  private lines = { turnId: "", count: 0 }

  constructor(client: HostClient, placed: PlacedSession, chat: HostChat) {
    this.client = client
    this.placed = placed
    this.chat = chat
    this.address = addressOfChat(placed, chat)
    this.sessionId = placed.session.id
    this.state = emptyChat(placed, chat)
  }

  snapshot(): ChatState {
    return this.state
  }

  reduce(action: StateAction): void {
    this.state = chatReducer(this.state, action as ChatAction) // actions of other channels change nothing
    this.updateNeeded(action as ChatAction, this.state) // the same
  }

  /** Tells the session what waits for a person in the chat, or in the chat of a sub-agent. */
  private updateNeeded({ type }: ChatAction, state: ChatState): void {
    if (!needing.has(type)) return
    for (const channel of this.client.channels.values())
      if (channel instanceof SessionChannel && channel.sessionId === this.sessionId)
        channel.updateNeeded(state)
  }

  refresh(session: HostSession): void {
    const placed = this.client.place(session)
    if (placed === undefined) return
    this.placed = placed
    // The agent of a draft has its id now.
    const chat = this.chat.id === "" ? session.chats[0] : session.chats.find(({ id }) => id === this.chat.id)
    this.isGone = chat === undefined
    this.chat = chat ?? this.chat
    Queue.offerUnsafe(this.wake, undefined)
    if (this.fold?.lastSeq === 0) Queue.offerUnsafe(this.look, undefined)
  }

  close(): void {
    this.follower?.interruptUnsafe()
    for (const address of this.nestedChats.keys()) this.client.unsubscribe(address)
  }

  /** Reads the newest turns, and follows the chat from there. */
  readonly load: Effect.Effect<void, Failure> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const runs = yield* this.newest()
      for (const run of runs.toReversed()) yield* this.readRun(run)
      const { client, sessionId } = this
      this.waiting = yield* client.backend.waiting({ sessionId, chatId: this.chat.id })
      const nextCursor = this.olderCursor
      const summary = chatSummary(this.placed, this.chat)
      this.state = {
        ...this.state,
        ...summary,
        status: (this.state.status & ACTIVITY_BITS) | (summary.status & ~ACTIVITY_BITS),
        ...(nextCursor === null ? {} : { turnsNextCursor: nextCursor }),
        ...(this.waiting.length === 0 ? {} : { queuedMessages: this.waiting.map(queuedMessage) })
      }
      this.follow()
    })
  )

  /** The newest runs, as far as their events are not too many to read at once. */
  private readonly newest = Effect.fnUntraced(function* (this: ChatChannel) {
    const first = yield* this.page(PAGE)
    let runs = first.items
    let cursor = first.nextCursor
    const hasRoom = () =>
      runs.length < MAX_RUNS && runs.reduce((sum, { lastSeq }) => sum + lastSeq, 0) < MAX_EVENTS
    while (cursor !== null && hasRoom()) {
      const { items, nextCursor } = yield* this.page(PAGE, cursor)
      runs = [...runs, ...items]
      cursor = nextCursor
    }
    this.olderCursor = cursor
    return runs
  })

  /** A chat of a draft has no runs yet. */
  follow(): void {
    this.follower ??= this.client.run(
      Effect.forever(
        Effect.andThen(
          Effect.matchEffect(this.followNew, {
            onSuccess: () => Effect.void,
            onFailure: ({ message }) => Effect.logWarning("failed to follow a chat of an editor", { message })
          }),
          Queue.take(this.wake)
        )
      )
    )
  }

  private page(limit: number, cursor?: string) {
    const { chat, sessionId } = this
    const place = { sessionId, chatId: chat.id, limit }
    return this.client.backend.runs(cursor === undefined ? place : { ...place, cursor })
  }

  private foldOf(run: HostRun): RunFold {
    const { people } = this.placed.session
    return new RunFold({
      runId: run.id,
      turnKey: run.key ?? this.keys.get(run.id),
      keyOfTurn: (text) =>
        this.beginnings.find((turn) => turn.text === text)?.turnId ??
        this.waiting.find((message) => message.text === text)?.key,
      nestedChatAddress: (toolCallId) => nestedChatAddress(this.placed.address, toolCallId),
      model: run.model,
      modes: this.client.agents.find(({ id }) => id === run.agentId)?.modes ?? [],
      nameOf: (user) => people.get(user) ?? this.placed.session.people.get(user) ?? user
    })
  }

  /** Folds what a run has so far, without telling the client. */
  private readonly readRun = Effect.fnUntraced(function* (this: ChatChannel, run: HostRun) {
    const fold = this.foldOf(run)
    this.fold = fold
    this.run = run.id
    if (run.lastSeq === 0) {
      for (const action of fold.endUnanswered(run)) this.state = chatReducer(this.state, action)
      return
    }
    yield* this.foldEvents(
      run.id,
      fold,
      (action) => {
        this.state = chatReducer(this.state, action)
      },
      () => fold.lastSeq >= run.lastSeq
    )
  })

  /** Folds the events of a run, to its end or to where it is enough. */
  private foldEvents(
    run: RunId,
    fold: RunFold,
    onAction: (action: ChatAction) => void,
    isEnough: () => boolean
  ): Effect.Effect<void, Failure> {
    return this.client.backend.events(run, fold.lastSeq).pipe(
      Stream.map((event) => {
        for (const action of fold.apply(event)) onAction(action)
        for (const nested of fold.takeNestedActions()) this.takeNestedAction(nested)
        return fold.hasEnded || isEnough()
      }),
      Stream.takeUntil((isDone) => isDone),
      Stream.runDrain
    )
  }

  /** Follows the run in progress to its end, then each run after it. */
  private readonly followNew: Effect.Effect<void, Failure> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      if (this.run !== undefined && this.fold?.hasEnded === false) {
        // It can have ended since it was read.
        Queue.offerUnsafe(this.look, undefined)
        yield* this.followRun(this.run, this.fold)
      }
      for (;;) {
        if (this.sending > 0) return
        const { items } = yield* this.page(NEW_RUNS)
        const at = items.findIndex(({ id }) => id === this.run)
        const newer = (
          at < 0 && this.run !== undefined ? items.slice(0, 1) : items.slice(0, at < 0 ? NEW_RUNS : at)
        )
          .toReversed()
          .filter(({ id }) => id !== this.run)
        const next = this.answeredLate(items) ?? newer[0]
        if (next === undefined || this.sending > 0) return
        const fold = this.foldOf(next)
        this.fold = fold
        this.run = next.id
        fold.endUnanswered(next).forEach((action) => this.sendAction(action))
        if (!fold.hasEnded) yield* this.followRun(next.id, fold)
      }
    })
  )

  /** The last run, if it has events after its end without them: they are another turn. */
  private answeredLate(runs: ReadonlyArray<HostRun>): HostRun | undefined {
    const run = this.fold?.lastSeq === 0 ? runs.find(({ id }) => id === this.run) : undefined
    return run === undefined || run.lastSeq === 0 ? undefined : { ...run, key: `${run.id}.late` }
  }

  /** Ends with a run that the service has ended without an event of it. The stream of its events stays open. */
  private readonly unanswered = Effect.fnUntraced(function* (this: ChatChannel, id: RunId, fold: RunFold) {
    while (!fold.hasEnded) {
      yield* Queue.take(this.look)
      if (fold.lastSeq > 0) continue
      const run = (yield* this.page(NEW_RUNS)).items.find((each) => each.id === id)
      if (run !== undefined) fold.endUnanswered(run).forEach((action) => this.sendAction(action))
    }
  })

  private followRun(run: RunId, fold: RunFold): Effect.Effect<void, Failure> {
    return this.foldEvents(
      run,
      fold,
      (action) => this.sendAction(action),
      () => false
    ).pipe(Effect.raceFirst(this.unanswered(run, fold)))
  }

  /** Sends an action of a run. The start of a turn that the client has begun is the answer to it. */
  private sendAction(action: ChatAction): void {
    if (action.type !== "chat/turnStarted") return this.client.publish(this, action)
    const beginning = this.beginnings.find(({ turnId }) => turnId === action.turnId)
    this.beginnings = this.beginnings.filter((turn) => turn !== beginning)
    if (this.hasTurn(action.turnId)) return
    beginning?.onStart?.()
    const hasWaited = this.waiting.some(({ key }) => key === action.turnId)
    this.waiting = this.waiting.filter(({ key }) => key !== action.turnId)
    const { queuedMessageId = hasWaited ? waitingIdOf(action.turnId) : undefined } = beginning ?? {}
    const started = queuedMessageId === undefined ? action : { ...action, queuedMessageId }
    this.client.publish(this, started, beginning?.origin)
  }

  /** An action on the chat of a sub-agent. The client receives it if it has subscribed to the chat. */
  private takeNestedAction({ action, callId }: NestedChatAction): void {
    const address = nestedChatAddress(this.placed.address, callId)
    if (action.type === "chat/turnStarted" && !this.nestedChats.has(address))
      remember(this.nestedChats, address, new NestedChatChannel(this, address, action), MAX_NESTED_CHATS)
    const channel = this.nestedChats.get(address)
    if (channel === undefined) return
    if (this.client.channels.get(address) === channel) this.client.publish(channel, action)
    else channel.reduce(action)
    if (this.client.channels.get(this.address) === this) this.updateNeeded(action, channel.snapshot())
  }

  hasTurn(turnId: string): boolean {
    return this.state.activeTurn?.id === turnId || this.state.turns.some(({ id }) => id === turnId)
  }

  /** Whether the client has begun this turn, and nothing of it has happened yet. */
  isBegun(turnId: string): boolean {
    return this.beginnings.some((turn) => turn.turnId === turnId)
  }

  /** Runs a call of the service that begins a turn of the client. */
  beginTurn<E>(turn: BegunTurn, call: Effect.Effect<SentMessage, E>): Effect.Effect<void, E> {
    return Effect.suspend(() => {
      const others = this.beginnings.filter(({ turnId }) => turnId !== turn.turnId)
      this.beginnings = [...others, turn].slice(-MAX_KEYS)
      this.sending++
      return call
    }).pipe(
      Effect.map(({ chatId, runId }) => {
        // A draft has its agent now.
        this.client.drafts.delete(this.sessionId)
        if (this.chat.id === "") this.chat = { ...this.chat, id: chatId }
        // Input to a run that has begun: its first turn has an id already.
        if (runId === undefined || runId === this.run) return
        remember(this.keys, runId, turn.turnId, MAX_KEYS)
      }),
      Effect.tapError(() =>
        Effect.sync(() => {
          this.beginnings = this.beginnings.filter((each) => each !== turn)
        })
      ),
      Effect.ensuring(
        Effect.sync(() => {
          this.sending--
          Queue.offerUnsafe(this.wake, undefined)
        })
      )
    )
  }

  /** Shows a message that waits for the end of the turn in progress. */
  addWaiting(message: WaitingMessage): void {
    this.waiting = [...this.waiting.filter(({ key }) => key !== message.key), message]
    this.client.publish(this, { type: "chat/pendingMessageSet", kind: "queued", ...queuedMessage(message) })
  }

  /** A line in the turn in progress: clients do not show why an action was refused. */
  addLine(text: string): void {
    const turnId = this.state.activeTurn?.id
    if (turnId === undefined) return
    const count = this.lines.turnId === turnId ? this.lines.count + 1 : 1
    if (count > MAX_LINES) return
    this.lines = { turnId, count }
    const id = `line.${this.client.log.seq + 1}`
    this.client.publish(this, {
      type: "chat/responsePart",
      turnId,
      part: { kind: "markdown", id, content: `\n\n*${text}*\n\n` }
    })
  }

  /** Loads the turns of older runs into the state. */
  readonly loadOlder = Effect.fnUntraced(function* (this: ChatChannel) {
    const cursor = this.olderCursor
    if (cursor === null) return this.client.publish(this, { type: "chat/turnsLoaded", turns: [] })
    const { items, nextCursor } = yield* this.page(PAGE, cursor)
    let older: ChatState = { ...this.state, turns: [], activeTurn: undefined }
    for (const run of items.toReversed()) {
      const fold = this.foldOf(run)
      if (!hasEnded(run)) continue
      const onAction = (action: ChatAction): void => {
        older = chatReducer(older, action)
      }
      fold.endUnanswered(run).forEach(onAction)
      if (run.lastSeq > 0) yield* this.foldEvents(run.id, fold, onAction, () => fold.lastSeq >= run.lastSeq)
    }
    const turns: ReadonlyArray<Turn> = older.turns
    this.olderCursor = nextCursor
    this.client.publish(this, {
      type: "chat/turnsLoaded",
      turns,
      ...(nextCursor === null ? {} : { turnsNextCursor: nextCursor })
    })
  })
}
