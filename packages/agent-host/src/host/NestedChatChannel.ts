/**
 * Channel of the chat of one sub-agent: what it does, as one turn. A client reads it below the call that has started the sub-agent.
 *
 * Guarantees: it has everything since the sub-agent began, also if the client subscribes late.
 * Does not: take messages. A client only decides what waits in it.
 */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { ChatAction, StateAction } from "../protocol/Actions.ts"
import { type ChatState, statusBits } from "../protocol/State.ts"
import { chatReducer } from "../reducers/ChatReducer.ts"
import type { ChatChannel } from "./ChatChannel.ts"
import type { Channel } from "./HostClient.ts"

export class NestedChatChannel implements Channel {
  readonly address: string
  readonly sessionId: SessionId
  /** The chat of the agent. */
  readonly chat: ChatChannel
  private state: ChatState

  constructor(
    chat: ChatChannel,
    address: string,
    start: Extract<ChatAction, { readonly type: "chat/turnStarted" }>
  ) {
    this.address = address
    this.sessionId = chat.sessionId
    this.chat = chat
    this.state = {
      resource: address,
      title: start.message.text,
      status: statusBits.idle | statusBits.isRead,
      modifiedAt: start.startedAt,
      interactivity: "read-only",
      turns: []
    }
  }

  snapshot(): ChatState {
    return this.state
  }

  reduce(action: StateAction): void {
    this.state = chatReducer(this.state, action as ChatAction) // actions of other channels change nothing
  }

  refresh(): void {
    // The chat of the agent reads the events.
  }

  close(): void {
    // The same.
  }
}
