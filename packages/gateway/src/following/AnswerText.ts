/**
 * Final answer of an agent for a chat: sent only to the person who asked, in their direct chat. Code, diffs, folders and secrets
 * stay at the Hub. Pure.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { Redaction } from "@corral/domain/redaction/Redaction"

const redaction = new Redaction()

/** Characters. */
const MAX = 3_000
/** Maximum number of characters to read. An Edge does not send longer answers. */
const LONGEST = 65_536

const fenced = capped(LONGEST, /(^|\n)[ \t]*(```|~~~)[\s\S]*?(\n[ \t]*\2[^\n]*|$)/g)
/** A line of a diff without a fence. */
const diffLine = /^(diff --git |index [0-9a-f]{7,}|--- |\+\+\+ |@@ -\d)[^\n]*\n?/gm
/** An absolute path, of Unix or Windows: its last name says enough. Addresses of the web stay. */
const absolute = capped(LONGEST, /(?<![\w:/.~-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\]?/g)

const lastName = (path: string): string =>
  path
    .replace(/[/\\]$/, "")
    .split(/[/\\]/)
    .at(-1) ?? ""

const cut = (text: string): string => {
  if (text.length <= MAX) return text
  return `${text
    .slice(0, MAX)
    .toWellFormed()
    .replace(/\uFFFD$/, "")} …`
}

/** Undefined where nothing is left to say. */
export const answerText = (text: string): string | undefined => {
  const told = redaction
    .text(text)
    .slice(0, LONGEST)
    .replaceAll(fenced, "$1[…]")
    .replaceAll(diffLine, "")
    .replaceAll(absolute, lastName)
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
  return told === "" || told === "[…]" ? undefined : cut(told)
}
