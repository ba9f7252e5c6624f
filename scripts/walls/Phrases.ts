/** Phrases that the project does not use, in sources, comments, documents and test names. */

/** The list of the style guide. CONTRIBUTING.md says what to write instead. */
export const phrases = [
  "whoever",
  "whatever",
  "nobody",
  "somebody",
  "anew",
  "thereby",
  "therein",
  "at work",
  "worked off",
  "is told",
  "are told",
  "tells of",
  "told of",
  "knows no",
  "of its own",
  "in place of",
  "let go of",
  "any more",
  "so many",
  "very many",
  "goes on",
  "comes to nothing"
] as const

/** A space of a phrase is any white space, also across lines of a comment or a quotation. */
const SPACE = String.raw`(?:\s|\n[ \t]*(?:\*|//|#|>)[ \t]*){1,40}`

const pattern = new RegExp(
  String.raw`\b(?:${phrases.map((each) => each.replaceAll(" ", SPACE)).join("|")})\b`,
  "gi"
)

export interface PhraseUse {
  readonly line: number
  readonly phrase: string
}

export const phrasesIn = (text: string): ReadonlyArray<PhraseUse> =>
  [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    line: text.slice(0, index).split("\n").length,
    phrase: found.replace(/\s[\s*/#>]*/g, " ").toLowerCase()
  }))
