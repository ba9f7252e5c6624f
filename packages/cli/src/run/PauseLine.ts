/** Line of text about a pause or its end: what happened, and by whom or why. */
import type { PauseBlock } from "@corral/domain/run/RunBlock"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/WrapText.ts"

export const pauseLine = (
  { by, change, reason }: Pick<PauseBlock, "by" | "change" | "reason">,
  nameOf: (user: string) => string
): Row => {
  const who = by === undefined ? "" : ` by ${escapeLine(nameOf(by))}`
  const why = reason === undefined ? "" : `: ${escapeLine(reason)}`
  return [{ text: change, style: "yellow" }, { text: `${who}${why}` }]
}
