/** Decision of one approval, shared by `approve` and `deny`. */
import { ApprovalId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { Argument } from "effect/cli"
import type { RunServerChoice } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import type { DecisionRequest } from "./RunServer.ts"
import { selectRunServer } from "./SelectRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

export const approvalArgument = Argument.String("approval").pipe(
  Argument.withDescription("Id of the approval"),
  Argument.withSchema(ApprovalId)
)

/** Sends the decision and prints the result. */
export const decideApproval = Effect.fnUntraced(function* (
  choice: RunServerChoice,
  id: ApprovalId,
  decision: DecisionRequest,
  json: boolean
) {
  const host = yield* Host
  const server = yield* selectRunServer(choice)
  const approval = yield* server.decide(id, decision)
  const { state, request } = approval
  host.write(json ? `${JSON.stringify(approval)}\n` : `${state}: ${escapeLine(request.title)}\n`)
})
