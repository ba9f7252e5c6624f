/** One page of a list, by keyset. A cursor is valid only for its list, its filter and its principal. */
import type { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RequestId } from "@corral/domain/identity/Ids"
import { decodeCursor, encodeCursor } from "@corral/domain/http/Page"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"

export interface Paged {
  /** Canonical text of the list and its filter. */
  readonly filter: string
  /** Principal of the request. */
  readonly principal: string
  readonly cursor: string | undefined
  readonly limit: number
}

/** `read` returns at most `limit` items after a position, or the first ones. `positionOf` returns the position of an item. */
export const pageOf = <A, E, R>(
  { filter, principal, cursor, limit }: Paged,
  positionOf: (item: A) => string,
  read: (position: string | undefined, limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<
  { readonly items: ReadonlyArray<A>; readonly nextCursor: string | null; readonly requestId: RequestId },
  E | SchemaValidationFailed,
  R | CurrentRequestId
> =>
  Effect.gen(function* () {
    const scope = { filter, principal }
    const position = cursor === undefined ? undefined : yield* Effect.fromResult(decodeCursor(cursor, scope))
    // One item more than requested shows whether another page follows.
    const found = yield* read(position, limit + 1)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const more = found.length > limit && last !== undefined
    return {
      items,
      nextCursor: more ? encodeCursor({ ...scope, position: positionOf(last) }) : null,
      requestId: yield* CurrentRequestId
    }
  })

/** Position of an item with an id. */
export const idPosition = ({ id }: { readonly id: string }): string => id
