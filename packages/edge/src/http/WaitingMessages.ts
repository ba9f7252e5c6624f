/**
 * Messages of editors to an agent of a session that wait for the end of a run, in the store.
 *
 * Guarantees: the order is that of their arrival. A message that is stored again under its key has the new text in the same place.
 * Does not: deliver them. The commit of the run that has a message removes its row.
 */
import type { HostMessage } from "@corral/agent-host/host/HostBackend"
import type { AgentId, SessionId } from "@corral/domain/identity/Ids"
import { parseStored } from "../store/StoreDamage.ts"
import type { Store, Write } from "../store/Store.ts"

/** An agent in a session. */
export interface AgentChat {
  readonly sessionId: SessionId
  readonly agentId: AgentId
}

/** Chats with messages that wait. */
export const chatsThatWait = (store: Store["Service"]): ReadonlyArray<AgentChat> =>
  store.all("SELECT DISTINCT session_id AS sessionId, agent_id AS agentId FROM waiting_messages")

/** Messages of a chat that wait, in order. */
export const waitingMessages = (
  store: Store["Service"],
  { agentId, sessionId }: AgentChat
): ReadonlyArray<HostMessage> =>
  store
    .all<{ readonly message: string }>(
      "SELECT message FROM waiting_messages WHERE session_id = ? AND agent_id = ? ORDER BY position",
      sessionId,
      agentId
    )
    .map(({ message }) => parseStored<HostMessage>(message, "waiting message"))

export const insertWaitingMessage = (message: HostMessage): Write => [
  `INSERT INTO waiting_messages (session_id, agent_id, key, message) VALUES (?, ?, ?, ?)
   ON CONFLICT (session_id, agent_id, key) DO UPDATE SET message = excluded.message`,
  message.sessionId,
  message.agentId,
  message.key,
  JSON.stringify(message)
]

export const deleteWaitingMessage = ({ agentId, sessionId }: AgentChat, key: string): Write => [
  "DELETE FROM waiting_messages WHERE session_id = ? AND agent_id = ? AND key = ?",
  sessionId,
  agentId,
  key
]
