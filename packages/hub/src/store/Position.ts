/** Where an item stands in a list that goes by time, newest first, and by id among those of one moment. */
export interface Position {
  /** ISO 8601, to the millisecond, as every time here. */
  readonly at: string
  readonly id: string
}

/** As a cursor carries it. */
export const positionOf = (at: string, id: string): string => `${at} ${id}`

/** What `positionOf` made. A cursor's seal finds mistakes, not malice: of anything else comes a position at which nothing follows. */
export const positionIn = (text: string): Position => {
  const [, at, id] = shape.exec(text) ?? []
  return at === undefined || id === undefined ? { at: "1970-01-01T00:00:00.000Z", id: "" } : { at, id }
}

const shape = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([A-Za-z0-9_]+)$/
