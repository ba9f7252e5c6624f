/** Position in a list that is ordered by time, newest first, and by id for equal times. */
export interface Position {
  /** ISO 8601, to the millisecond, as every time here. */
  readonly at: string
  readonly id: string
}

/** Text of a position, for a cursor. */
export const encodePosition = (at: string, id: string): string => `${at} ${id}`

/**
 * Decodes the text of `encodePosition`. Any other text, such as a forged cursor's, gives a position at the end of the list.
 */
export const decodePosition = (text: string): Position => {
  const [, at = "", id = ""] = /^(\S+) (\w+)$/.exec(text) ?? []
  return Number.isNaN(Date.parse(at)) ? { at: new Date(0).toISOString(), id: "" } : { at, id }
}

/** Decodes a position that is a number from 1 up. Any other text gives `end`. */
export const decodeSeq = (text: string, end: number): number => (/^\d{1,15}$/.test(text) ? Number(text) : end)
