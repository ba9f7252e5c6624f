/**
 * Channel of one chat: its state, the turns that the client has begun, the messages that wait, and the chats of sub-agents.
 *
 * Guarantees: the first snapshot has everything that had happened when it was asked for. A turn that the client has begun has the id that the client gave it.
 * Does not: read runs (`RunFollower`), or decide anything. `Dispatches` carries out what the client sends.
 */
import type { Failure } from "@corral/domain/errors/Failures"
import type { SessionId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { remember, type NestedChatAction } from "../fold/CallFold.ts"
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
import { ACTIVITY_BITS, type ChatState } from "../protocol/State.ts"
import { chatReducer } from "../reducers/ChatReducer.ts"
import type { ChatPlace, HostChat, HostSession, SentMessage, WaitingMessage } from "./HostBackend.ts"
import type { Channel, HostClient, Origin } from "./HostClient.ts"
import { NestedChatChannel } from "./NestedChatChannel.ts"
import { type FollowedChat, RunFollower } from "./RunFollower.ts"
import { SessionChannel } from "./SessionChannel.ts"

/** Chats of sub-agents that are remembered. */
const MAX_NESTED_CHATS = 1_000
/** Lines about refusals in one turn. */
const MAX_LINES = 100
/** Turns that the client has begun and that have not started. */
const MAX_BEGINNINGS = 1_000

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

export class ChatChannel implements Channel, FollowedChat {
  readonly address: string
  readonly sessionId: SessionId
  placed: PlacedSession
  chat: HostChat
  /** Whether the agent has left the session. The service refuses its messages: they are for no other agent. */
  isGone = false
  /** The runs of its agent. */
  readonly runs: RunFollower
  /** Lines for the beginning of the next turn. */
  private readonly linesOfNextTurn = new Set<string>()
  private readonly client: HostClient
  private state: ChatState
  private beginnings: ReadonlyArray<BegunTurn> = []
  /** Messages that waited when the chat was read, and whose turns have not begun. */
  private waiting: ReadonlyArray<WaitingMessage> = []
  /** Chats of sub-agents, by their addresses. */
  readonly nestedChats = new Map<string, NestedChatChannel>()
  /** Lines about refusals in the turn that had the last one. */
  private lines: { readonly turnId: string; readonly texts: ReadonlySet<string> } = {
    turnId: "",
    texts: new Set()
  }

  constructor(client: HostClient, placed: PlacedSession, chat: HostChat) {
    this.client = client
    this.runs = new RunFollower(client, this)
    this.placed = placed
    this.chat = chat
    this.address = addressOfChat(placed, chat)
    this.sessionId = placed.session.id
    this.state = emptyChat(placed, chat)
  }

  get place(): ChatPlace {
    return { sessionId: this.sessionId, chatId: this.chat.id }
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
    this.runs.wake()
  }

  close(): void {
    this.runs.stop()
    for (const address of this.nestedChats.keys()) this.client.unsubscribe(address)
  }

  /** Reads the newest turns, and follows the chat from there. */
  readonly load: Effect.Effect<void, Failure> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const nextCursor = yield* this.runs.readNewest((action) => {
        this.state = chatReducer(this.state, action)
      })
      this.waiting = yield* this.client.backend.waiting(this.place)
      const summary = chatSummary(this.placed, this.chat)
      this.state = {
        ...this.state,
        ...summary,
        status: (this.state.status & ACTIVITY_BITS) | (summary.status & ~ACTIVITY_BITS),
        ...(nextCursor === null ? {} : { turnsNextCursor: nextCursor }),
        ...(this.waiting.length === 0 ? {} : { queuedMessages: this.waiting.map(queuedMessage) })
      }
      this.runs.start()
    })
  )

  /** Id that the client has for the turn of a message with this text. */
  turnIdOf(text: string): string | undefined {
    return (
      this.beginnings.find((turn) => turn.text === text)?.turnId ??
      this.waiting.find((message) => message.text === text)?.key
    )
  }

  /** Sends an action of a run. The start of a turn that the client has begun is the answer to it. */
  takeAction(action: ChatAction): void {
    if (action.type !== "chat/turnStarted") return this.client.publish(this, action)
    const beginning = this.beginnings.find(({ turnId }) => turnId === action.turnId)
    this.beginnings = this.beginnings.filter((turn) => turn !== beginning)
    if (this.hasTurn(action.turnId)) return
    beginning?.onStart?.()
    const hasWaited = this.waiting.some(({ key }) => key === action.turnId)
    this.waiting = this.waiting.filter(({ key }) => key !== action.turnId)
    const { queuedMessageId = hasWaited ? waitingIdOf(action.turnId) : undefined } = beginning ?? {}
    const started = queuedMessageId === undefined ? action : { ...action, queuedMessageId }
    this.startTurn(started, beginning?.origin)
  }

  /** Sends the start of a turn, and the lines that wait for it. */
  startTurn(started: ChatAction, origin: Origin | undefined): void {
    this.client.publish(this, started, origin)
    for (const line of this.linesOfNextTurn) this.addLine(line)
    this.linesOfNextTurn.clear()
  }

  /** An action on the chat of a sub-agent. The client receives it if it has subscribed to the chat. */
  takeNestedAction({ action, callId }: NestedChatAction): void {
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
      this.beginnings = [...others, turn].slice(-MAX_BEGINNINGS)
      return this.runs.withHeld(
        call.pipe(
          Effect.map(({ chatId, runId }) => {
            // A draft has its agent now.
            this.client.drafts.delete(this.sessionId)
            if (this.chat.id === "") this.chat = { ...this.chat, id: chatId }
            if (runId !== undefined) this.runs.nameTurn(runId, turn.turnId)
          }),
          Effect.tapError(() =>
            Effect.sync(() => {
              this.beginnings = this.beginnings.filter((each) => each !== turn)
            })
          )
        )
      )
    })
  }

  /** Shows a message that waits for the end of the turn in progress. */
  addWaiting(message: WaitingMessage): void {
    this.waiting = [...this.waiting.filter(({ key }) => key !== message.key), message]
    this.client.publish(this, { type: "chat/pendingMessageSet", kind: "queued", ...queuedMessage(message) })
  }

  /** A line at the beginning of the next turn: clients do not show what they have removed or stopped. */
  addLineOfNextTurn(text: string): void {
    if (this.linesOfNextTurn.size < MAX_LINES) this.linesOfNextTurn.add(text)
  }

  /** A line in the turn in progress, once: clients do not show why an action was refused, and repeat it. */
  addLine(text: string): void {
    const turnId = this.state.activeTurn?.id
    if (turnId === undefined) return
    const texts = this.lines.turnId === turnId ? this.lines.texts : new Set<string>()
    if (texts.has(text) || texts.size >= MAX_LINES) return
    this.lines = { turnId, texts: new Set([...texts, text]) }
    const id = `line.${this.client.log.seq + 1}`
    this.client.publish(this, {
      type: "chat/responsePart",
      turnId,
      part: { kind: "markdown", id, content: `\n\n*${text}*\n\n` }
    })
  }

  /** Loads the turns of older runs into the state. */
  readonly loadOlder = Effect.fnUntraced(function* (this: ChatChannel) {
    let older: ChatState = { ...this.state, turns: [], activeTurn: undefined }
    const nextCursor = yield* this.runs.readOlder((action) => {
      older = chatReducer(older, action)
    })
    this.client.publish(this, {
      type: "chat/turnsLoaded",
      turns: older.turns,
      ...(nextCursor === null ? {} : { turnsNextCursor: nextCursor })
    })
  })
}
