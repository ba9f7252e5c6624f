/** One decision sent to the Edge: what `approve` and `deny` have in common. */
import type { DecideApproval } from "@corral/domain/Approval"
import { ApprovalId } from "@corral/domain/Ids"
import { Effect } from "effect"
import { Argument } from "effect/cli"
import { randomUUID } from "node:crypto"
import { asked, connect } from "./EdgeClient.ts"
import type { EdgeChoice } from "./Flags.ts"
import { Host } from "./Host.ts"
import { visibleLine } from "./Visible.ts"

export const approvalArgument = Argument.String("approval").pipe(
  Argument.withDescription("Id of the approval"),
  Argument.withSchema(ApprovalId)
)

/** Looks up which run it belongs to, decides it and says what was decided. */
export const decide = Effect.fnUntraced(function* (
  edge: EdgeChoice,
  id: ApprovalId,
  decision: Omit<DecideApproval, "runId" | "approvalId">
) {
  const host = yield* Host
  const calls = yield* connect(edge)
  const { runId } = yield* asked(calls.permissions.get({ params: { id } }))
  const headers = { "idempotency-key": randomUUID() }
  const payload = { runId, approvalId: id, ...decision }
  const { state, request } = yield* asked(calls.permissions.decide({ headers, payload }))
  host.write(`${state}: ${visibleLine(request.title)}\n`)
})
