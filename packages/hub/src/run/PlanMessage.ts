/**
 * Message that continues the work of a session after an approved plan.
 *
 * Guarantees: the message is added once, with the end of its run, in the name of the user who approved the plan.
 */
import type { AgentInstanceId, MessageId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { noteColumns } from "../session/MessageRow.ts"
import { insertMessage } from "../session/MessageWrites.ts"
import { touchSession } from "../session/SessionLock.ts"
import { derivedId } from "../store/DerivedId.ts"
import { findApprovedPlan } from "./PlanApproval.ts"
import type { TalkingRun } from "./TalkingRun.ts"

/** Adds the message if the run ended because its plan was approved. */
export const continueAfterPlan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { agentId, id: runId, run, sessionId }: TalkingRun & { readonly agentId: AgentInstanceId },
  at: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const plan = yield* findApprovedPlan(sql, run)
  if (plan === undefined) return
  const session = yield* touchSession(sql, run.row.project_id, sessionId, at)
  if (session?.state !== "active") return
  yield* insertMessage(sql, {
    ...noteColumns,
    id: derivedId<MessageId>("msg", session.updated_at.getTime(), `${runId} plan`),
    session_id: sessionId,
    user_id: plan.author,
    agent_instance_id: null,
    text: plan.isRemembered ? plan.texts.resumed : plan.texts.whole,
    recipient: agentId,
    send_when: "next",
    mode: plan.mode,
    on_offline: "queue",
    delivery: "pending",
    created_at: session.updated_at
  })
})
