/** Where an item stands in a list that goes by time, newest first, and by id among those of one moment. */
export interface Position {
  /** ISO 8601, to the millisecond, as every time here. */
  readonly at: string
  readonly id: string
}

/** As a cursor carries it. */
export const encodePosition = (at: string, id: string): string => `${at} ${id}`

/**
 * What `positionOf` made. A cursor's seal finds mistakes, not malice: of anything else comes a position that nothing follows.
 */
export const decodePosition = (text: string): Position => {
  const [, at = "", id = ""] = /^(\S+) (\w+)$/.exec(text) ?? []
  return Number.isNaN(Date.parse(at)) ? { at: new Date(0).toISOString(), id: "" } : { at, id }
}

/** A position that is a number from 1 up; `end`, which nothing follows, of anything else. */
export const decodeSeq = (text: string, end: number): number => (/^\d{1,15}$/.test(text) ? Number(text) : end)
