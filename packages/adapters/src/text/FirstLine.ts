/** First line of a text or of a plan, cut to the width of a list. Also parts of long texts, marked where they were cut. */
import { charactersFrom, firstCharacters } from "@corral/domain/text/Cut"

// Parts of long texts, marked with `…` where they were cut. The mark matters: half a secret may be before it, and the redaction of secrets
// looks there. After a mark at the beginning comes a whole word, because a secret is not recognized by its end.

/** The first characters of a text. */
export const beginningOf = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : `${firstCharacters(text, maxCharacters)}…`

/** The last characters of a text. */
export const endingOf = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters
    ? text
    : `…${charactersFrom(text, text.length - maxCharacters).replace(/^\S+/, "")}`

/** Maximum number of characters of a title or a label. */
export const MAX_TITLE = 120

/** The first line, cut at the maximum. `…` marks a cut. */
export const titleLine = (text: string): string => {
  const whole = text.trim()
  const end = whole.indexOf("\n")
  if (end === -1 && whole.length <= MAX_TITLE) return whole
  return `${firstCharacters(whole, end === -1 ? MAX_TITLE : Math.min(end, MAX_TITLE))}…`
}

/** Lines before the heading that some programs add, such as the name of a file. */
const NEAR = 5
const HEADING = /^#{1,6} /

/** Title of a plan that a runtime hands over: its first heading near the beginning, or its first line. */
export const planTitleOf = (plan: string): string => {
  const lines = plan.trim().split("\n", NEAR)
  const title = lines.find((line) => HEADING.test(line)) ?? lines[0] ?? ""
  return titleLine(title.replace(HEADING, "")) || "Plan"
}
