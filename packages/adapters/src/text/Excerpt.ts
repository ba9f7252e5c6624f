/**
 * Parts of long texts, marked with `…` where they were cut. The mark matters: half a secret may be before it, and the redaction of secrets
 * looks there. After a mark at the beginning comes a whole word, because a secret is not recognized by its end.
 */

/** Its first characters. */
export const beginningOf = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}…`

/** Its last characters. */
export const endingOf = (text: string, most: number): string =>
  text.length <= most ? text : `…${text.slice(-most).replace(/^\S+/, "")}`
