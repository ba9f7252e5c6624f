/** Sentence of parts: plain text, and mentions of people and things, whose names were written by others. Pure. */

/** Name of a person or a thing. A page isolates and emphasizes it. */
export interface NameMention {
  readonly name: string
  /** Whether it is what a person wrote, such as a reason. A quote is not emphasized. */
  readonly isQuote?: true
}

export type Sentence = ReadonlyArray<string | NameMention>

/** Template of a sentence. Parts are mentions, other sentences or text. */
export const sentence = (
  texts: TemplateStringsArray,
  ...parts: ReadonlyArray<Sentence | NameMention | string>
): Sentence =>
  texts
    .flatMap((text, at) => {
      const part = parts[at]
      return [text, ...(part === undefined ? [] : isSentence(part) ? part : [part])]
    })
    .filter((part) => part !== "")

const isSentence = (part: Sentence | NameMention | string): part is Sentence => Array.isArray(part)

/** The sentence as plain text. */
export const sentenceText = (parts: Sentence): string =>
  parts.map((part) => (typeof part === "string" ? part : part.name)).join("")
