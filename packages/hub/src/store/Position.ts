/** Where an item stands in a list that goes by time, newest first, and by id among those of one moment. */
export interface Position {
  /** ISO 8601, to the millisecond, as every time here. */
  readonly at: string
  readonly id: string
}

/** As a cursor carries it. */
export const positionOf = (at: string, id: string): string => `${at} ${id}`

/** What `positionOf` made; a cursor is sealed, so nothing else comes here. */
export const positionIn = (text: string): Position => {
  const space = text.indexOf(" ")
  return { at: text.slice(0, space), id: text.slice(space + 1) }
}
