/** A page of what an Edge gave whole, by a text that orders it. */
export const pageAfter = <A>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => string,
  after: string | undefined,
  limit: number
): ReadonlyArray<A> =>
  items
    .filter((item) => after === undefined || keyOf(item) > after)
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .slice(0, limit)
