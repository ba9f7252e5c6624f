/**
 * Parts of long texts, marked with `…` where they were cut. The mark matters: half a secret may stand before it, and whoever takes secrets
 * out of what is told looks there. After a mark at the beginning comes a whole word, for a secret is not known by its end.
 */

/** Its first characters. */
export const beginningOf = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}…`

/** Its last characters. */
export const endingOf = (text: string, most: number): string =>
  text.length <= most ? text : `…${text.slice(-most).replace(/^\S+/, "")}`
