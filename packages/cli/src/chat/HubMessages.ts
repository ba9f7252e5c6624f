/** Messages of a session as a chat shows them. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { DeliveryState, Message } from "@corral/domain/session/Message"
import type { ThreadMessage, ThreadMessageState } from "./ChatThread.ts"

export interface MessageReaders {
  /** The user of this terminal. */
  readonly userId: string
  readonly names: ReadonlyMap<string, string>
  readonly agents: ReadonlyArray<AgentInstance>
}

const states: Readonly<Record<DeliveryState, ThreadMessageState>> = {
  pending: "queued",
  delivered: "delivered",
  failed: "failed",
  withdrawn: "withdrawn"
}

export const threadMessage = (message: Message, { agents, names, userId }: MessageReaders): ThreadMessage => {
  const { attachments = [], author, delivery, error, id, runId, text, version, when } = message
  const name =
    author.kind === "agent"
      ? (agents.find((agent) => agent.id === author.agentInstanceId)?.label ?? "agent")
      : author.userId === userId
        ? undefined
        : (names.get(author.userId) ?? "another user")
  return {
    id,
    version,
    author: name,
    text,
    files: attachments,
    state: author.kind === "agent" ? "answer" : delivery === undefined ? "note" : states[delivery.state],
    isHeld: delivery?.held === true,
    isInput: when === "now",
    runId: delivery?.runId ?? runId,
    problem: (delivery?.error ?? error)?.message,
    hasTranscript: delivery?.context === "transcript"
  }
}
