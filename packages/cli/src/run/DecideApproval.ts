/** Decision of one approval, shared by `approve` and `deny`. */
import { editedLabel } from "@corral/domain/run/EditedLabel"
import { Effect } from "effect"
import type { RunServerChoice } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { resolveApprovalId } from "./IdArguments.ts"
import type { DecisionRequest } from "./RunServer.ts"
import { selectRunServer } from "./SelectRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Sends the decision and prints the result. */
export const decideApproval = Effect.fnUntraced(function* (
  choice: RunServerChoice,
  approval: string,
  decision: DecisionRequest,
  json: boolean
) {
  const host = yield* Host
  const server = yield* selectRunServer(choice)
  const id = yield* resolveApprovalId(server)(approval)
  const decided = yield* server.decide(id, decision)
  const { allowedInput, request, state } = decided
  const [title, edited] =
    allowedInput === undefined
      ? [request.title, ""]
      : [editedLabel(request.title, request.input, allowedInput), " (edited)"]
  host.write(json ? `${JSON.stringify(decided)}\n` : `${state}: ${escapeLine(title)}${edited}\n`)
})
