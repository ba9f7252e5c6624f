/**
 * Channel of one session: its title, chats, choices and what waits in them.
 *
 * Guarantees: a change of the session is sent as actions; what did not change is not sent again.
 */
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { SessionId } from "@corral/domain/identity/Ids"
import { changesetsOf, chosenMode, type PlacedSession, sessionState } from "./SessionViews.ts"
import type { SessionAction, StateAction } from "../protocol/Actions.ts"
import {
  type ChatState,
  type InputNeeded,
  type ResponsePart,
  type SessionState,
  statusBits
} from "../protocol/State.ts"
import { sessionReducer } from "../reducers/ChannelReducers.ts"
import type { HostSession } from "./HostBackend.ts"
import type { Channel, HostClient } from "./HostClient.ts"

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Actions that lead from one state of a session to another one, in the fields that the service decides. */
const differences = (before: SessionState, after: SessionState): ReadonlyArray<SessionAction> => [
  ...(before.title === after.title ? [] : [{ type: "session/titleChanged" as const, title: after.title }]),
  ...after.chats.flatMap((chat): ReadonlyArray<SessionAction> => {
    const shown = before.chats.find(({ resource }) => resource === chat.resource)
    if (shown === undefined) return [{ type: "session/chatAdded", summary: chat }]
    return isEqual(shown, chat) ? [] : [{ type: "session/chatUpdated", chat: chat.resource, changes: chat }]
  }),
  ...before.chats
    .filter(({ resource }) => after.chats.every((chat) => chat.resource !== resource))
    .map(({ resource }) => ({ type: "session/chatRemoved" as const, chat: resource })),
  ...(before.defaultChat === after.defaultChat || after.defaultChat === undefined
    ? []
    : [{ type: "session/defaultChatChanged" as const, defaultChat: after.defaultChat }]),
  ...(((before.status ^ after.status) & statusBits.isArchived) === 0
    ? []
    : [
        {
          type: "session/isArchivedChanged" as const,
          isArchived: (after.status & statusBits.isArchived) !== 0
        }
      ]),
  ...(((before.status ^ after.status) & statusBits.isRead) === 0
    ? []
    : [{ type: "session/isReadChanged" as const, isRead: (after.status & statusBits.isRead) !== 0 }]),
  ...(isEqual(before.changesets, after.changesets)
    ? []
    : [{ type: "session/changesetsChanged" as const, changesets: after.changesets ?? [] }])
]

const neededOf = (chat: string, turnId: string, part: ResponsePart): ReadonlyArray<InputNeeded> => {
  if (part.kind === "toolCall" && part.toolCall.status === "pending-confirmation") {
    const { toolCall } = part
    return [
      { id: `confirmation:${chat}:${toolCall.toolCallId}`, kind: "toolConfirmation", chat, turnId, toolCall }
    ]
  }
  return part.kind === "inputRequest" && part.response === undefined
    ? [{ id: `input:${chat}:${part.request.id}`, kind: "chatInput", chat, turnId, request: part.request }]
    : []
}

export class SessionChannel implements Channel {
  readonly address: string
  readonly sessionId: SessionId
  placed: PlacedSession
  private readonly client: HostClient
  private state: SessionState

  constructor(client: HostClient, placed: PlacedSession) {
    this.client = client
    this.placed = placed
    this.address = placed.address
    this.sessionId = placed.session.id
    this.state = sessionState(placed, this.modes)
  }

  /** Modes of the session's agent. */
  get modes(): ReadonlyArray<RunMode> {
    const { agentId } = this.placed.session
    return this.client.agents.find(({ id }) => id === agentId)?.modes ?? []
  }

  /** The mode that the client has chosen for the next turn. */
  get mode(): RunMode | undefined {
    return chosenMode(this.modes, this.state.config?.values)
  }

  snapshot(): SessionState {
    return this.state
  }

  reduce(action: StateAction): void {
    this.state = sessionReducer(this.state, action as SessionAction) // actions of other channels change nothing
  }

  refresh(session: HostSession): void {
    const placed = this.client.place(session)
    if (placed === undefined) return
    this.placed = placed
    const after: SessionState = { ...sessionState(placed, this.modes), changesets: changesetsOf(placed) }
    for (const action of differences(this.state, after)) this.client.publish(this, action)
  }

  /** What waits for a person in a chat of the session. */
  updateNeeded(chat: ChatState): void {
    const turn = chat.activeTurn
    const needed = turn?.responseParts.flatMap((part) => neededOf(chat.resource, turn.id, part)) ?? []
    const shown = this.state.inputNeeded?.filter((each) => each.chat === chat.resource) ?? []
    for (const { id } of shown)
      if (needed.every((each) => each.id !== id))
        this.client.publish(this, { type: "session/inputNeededRemoved", id })
    for (const request of needed) {
      const before = shown.find(({ id }) => id === request.id)
      if (!isEqual(before, request)) this.client.publish(this, { type: "session/inputNeededSet", request })
    }
  }

  close(): void {
    // It follows nothing itself.
  }
}
