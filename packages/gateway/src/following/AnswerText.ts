/**
 * Final answer of an agent, for the user's direct chat. Pure.
 *
 * Does not: contain code, diffs, folders or secrets. These stay at the Hub.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { Redaction } from "@corral/redaction/Redaction"

const redaction = new Redaction()

/** Characters of the answer. */
const MAX = 3_000
/** Maximum number of characters to read. An Edge does not send longer answers. */
const LONGEST = 65_536

const fenced = capped(LONGEST, /(^|\n)[ \t]*(```|~~~)[\s\S]*?(\n[ \t]*\2[^\n]*|$)/g)
/** A line of a diff without a fence. */
const diffLine = /^(diff --git |index [0-9a-f]{7,}|--- |\+\+\+ |@@ -\d)[^\n]*\n?/gm
/** An absolute path of Unix or Windows, which is replaced by its last name. URLs do not match. */
const absolute = capped(LONGEST, /(?<![\w:/.~-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\]?/g)

const lastName = (path: string): string =>
  path
    .replace(/[/\\]$/, "")
    .split(/[/\\]/)
    .at(-1) ?? ""

const truncate = (text: string): string => {
  if (text.length <= MAX) return text
  return `${text
    .slice(0, MAX)
    .toWellFormed()
    .replace(/\uFFFD$/, "")} …`
}

/** The text for the chat; undefined if nothing is left. */
export const answerText = (text: string): string | undefined => {
  const answer = redaction
    .text(text)
    .slice(0, LONGEST)
    .replaceAll(fenced, "$1[…]")
    .replaceAll(diffLine, "")
    .replaceAll(absolute, lastName)
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
  return answer === "" || answer === "[…]" ? undefined : truncate(answer)
}
