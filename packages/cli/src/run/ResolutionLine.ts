/** Line of text about a decision: what was decided, by whom, where and why. */
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import { originTexts } from "../terminal/OriginTexts.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/WrapText.ts"

export const resolutionLine = (
  {
    decidedBy,
    edited,
    origin,
    reason,
    scope,
    state
  }: Omit<ApprovalResolution, "resolvedAt" | "allowedInput">,
  nameOf: (user: string) => string
): Row => {
  const changes = edited === true ? " with changes" : ""
  const how =
    scope === undefined || scope === "once"
      ? ""
      : ` for this ${scope === "always" ? "and all later runs" : scope}`
  const who = decidedBy === undefined ? "" : ` by ${escapeLine(nameOf(decidedBy))}`
  const where = origin === undefined ? "" : originTexts[origin]
  const why = reason === undefined ? "" : `: ${escapeLine(reason)}`
  return [
    { text: state, style: state === "approved" ? "green" : "yellow" },
    { text: `${changes}${how}${who}${where}${why}` }
  ]
}
