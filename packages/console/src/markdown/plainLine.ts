/** A line of Markdown as plain text, for rows without styles: marks of headings, lists, code, emphasis and links are removed. Pure. */
import { capped } from "@corral/domain/text/CappedPattern"

/** Longer lines keep their marks. */
const MAX_LINE = 4_096

const START = capped(MAX_LINE, /^\s*(?:#{1,6}|>|[-*+]|\d{1,9}[.)])\s+/u)
const CODE = capped(MAX_LINE, /(`{1,3})([^`]+)\1/gu)
const LINK = capped(MAX_LINE, /!?\[([^[\]]*)\]\([^()\s]*\)/gu)
const STRONG = capped(MAX_LINE, /(\*\*|__|~~)(?=\S)([^*_~]+)\1/gu)
const EMPHASIS = capped(MAX_LINE, /(?<![\w*])([*_])(?=\S)([^*_]+)\1(?![\w*])/gu)

/** What is between the marks of code stays as it is. */
export const plainLine = (line: string): string =>
  line
    .replace(START, "")
    .split(CODE)
    // Marks and content of each code are between the texts around it.
    .map((part, at) =>
      at % 3 === 1
        ? ""
        : at % 3 === 2
          ? part
          : part.replace(LINK, "$1").replace(STRONG, "$2").replace(EMPHASIS, "$2")
    )
    .join("")
