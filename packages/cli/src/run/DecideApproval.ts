/** One decision sent to wherever the run is: what `approve` and `deny` have in common. */
import { ApprovalId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { Argument } from "effect/cli"
import type { PlaceChoice } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { type Decided, placeOf } from "./RunServer.ts"
import { visibleLine } from "../terminal/VisibleText.ts"

export const approvalArgument = Argument.String("approval").pipe(
  Argument.withDescription("Id of the approval"),
  Argument.withSchema(ApprovalId)
)

/** Decides it and says what was decided. */
export const decide = Effect.fnUntraced(function* (
  choice: PlaceChoice,
  id: ApprovalId,
  decided: Decided,
  json: boolean
) {
  const host = yield* Host
  const place = yield* placeOf(choice)
  const approval = yield* place.decide(id, decided)
  const { state, request } = approval
  host.write(json ? `${JSON.stringify(approval)}\n` : `${state}: ${visibleLine(request.title)}\n`)
})
