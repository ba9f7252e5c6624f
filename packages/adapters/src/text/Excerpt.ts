/**
 * Parts of long texts, marked with `…` where they were cut. The mark matters: half a secret may be before it, and the redaction of secrets
 * looks there. After a mark at the beginning comes a whole word, because a secret is not recognized by its end.
 */
import { charactersFrom, firstCharacters } from "@corral/domain/text/Cut"

/** The first characters of a text. */
export const beginningOf = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : `${firstCharacters(text, maxCharacters)}…`

/** The last characters of a text. */
export const endingOf = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters
    ? text
    : `…${charactersFrom(text, text.length - maxCharacters).replace(/^\S+/, "")}`
