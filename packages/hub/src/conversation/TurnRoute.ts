/** How a message reaches its agent: in the runtime's own conversation, in a new one, or in a new one that begins with a transcript. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { DeliveryContext } from "@corral/domain/session/Message"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Targets } from "../edges/Targets.ts"
import type { UserMessageRow } from "../session/MessageRow.ts"
import type { SessionAgentRow } from "../session/SessionAgentRow.ts"
import { type TranscribedPrompt, withTranscript } from "./Transcript.ts"

export interface TurnRoute {
  readonly context: DeliveryContext
  readonly resume?: RunId
  readonly prompt: TranscribedPrompt
}

export const findTurnRoute = Effect.fnUntraced(function* (
  { sql, targets }: { readonly sql: SqlClient.SqlClient; readonly targets: Targets["Service"] },
  agent: SessionAgentRow,
  { context, id, session_id, text }: UserMessageRow
) {
  const prompt = { text, authors: [], attachments: [] }
  const isAgain = context === "transcript"
  if (agent.conversation_run_id !== null && !isAgain) {
    const offer = yield* targets.lastOffer(agent.target_id)
    const offered = offer?.agents.find((each) => each.id === agent.agent_id)
    // An agent that is not offered is refused with its own error.
    if (offered === undefined || offered.capabilities.resume) {
      const resumed: TurnRoute = { context: "resumed", resume: agent.conversation_run_id, prompt }
      return resumed
    }
  }
  const earlier = yield* sql`
    SELECT 1 FROM messages WHERE session_id = ${session_id} AND id < ${id}
      AND ((recipient = ${agent.id} AND delivery = 'delivered') OR agent_instance_id = ${agent.id}) LIMIT 1`
  const route: TurnRoute =
    earlier.length === 0 && !isAgain
      ? { context: "new", prompt }
      : { context: "transcript", prompt: yield* withTranscript(sql, session_id, id, text) }
  return route
})
