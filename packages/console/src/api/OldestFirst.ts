/**
 * Order of approvals and questions: oldest first. Ids of one device are in the order in which it made them, so that requests of one millisecond
 * have the same order in every list and at every reading. Pure.
 */
interface Request {
  readonly id: string
  /** ISO 8601. */
  readonly requestedAt: string
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export const oldestFirst = <A extends Request>(requests: ReadonlyArray<A>): ReadonlyArray<A> =>
  requests.toSorted((a, b) => compare(a.requestedAt, b.requestedAt) || compare(a.id, b.id))
