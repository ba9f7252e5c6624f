/** One page of a list by keyset: the cursor is bound to the list, its filter and the principal. */
import type { SchemaValidationFailed } from "@corral/domain/Failures"
import type { RequestId } from "@corral/domain/Ids"
import { decodeCursor, encodeCursor } from "@corral/domain/Page"
import { CurrentRequestId } from "@corral/domain/RequestContext"
import { Effect } from "effect"
import { LOCAL } from "./Principal.ts"

export interface Paged {
  /** Canonical text of the list and its filter. */
  readonly filter: string
  readonly cursor: string | undefined
  readonly limit: number
}

/** `read` gives at most `limit` items that come after the item with that id, or the first ones. */
export const pageOf = <A extends { readonly id: string }>(
  { filter, cursor, limit }: Paged,
  read: (position: string | undefined, limit: number) => ReadonlyArray<A>
): Effect.Effect<
  { readonly items: ReadonlyArray<A>; readonly nextCursor: string | null; readonly requestId: RequestId },
  SchemaValidationFailed,
  CurrentRequestId
> =>
  Effect.gen(function* () {
    const scope = { filter, principal: LOCAL }
    const position = cursor === undefined ? undefined : yield* Effect.fromResult(decodeCursor(cursor, scope))
    // One more than asked for tells whether anything follows.
    const found = read(position, limit + 1)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const more = found.length > limit && last !== undefined
    return {
      items,
      nextCursor: more ? encodeCursor({ ...scope, position: last.id }) : null,
      requestId: yield* CurrentRequestId
    }
  })
