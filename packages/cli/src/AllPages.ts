/** Reader of a whole list, page by page. */
import { Effect } from "effect"
import { MAX_LIMIT } from "@corral/domain/http/Page"

export interface ListPage<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** Query of one page. */
export interface ListPageQuery {
  readonly limit: number
  readonly cursor?: string
}

/** Returns the first page with the items of all pages. */
export const readAllPages = <P extends ListPage<unknown>, E, R>(
  ask: (query: ListPageQuery) => Effect.Effect<P, E, R>
): Effect.Effect<P & { readonly items: ReadonlyArray<P["items"][number]> }, E, R> =>
  Effect.gen(function* () {
    const first = yield* ask({ limit: MAX_LIMIT })
    const items: Array<P["items"][number]> = [...first.items]
    for (let cursor = first.nextCursor; cursor !== null;) {
      const next = yield* ask({ limit: MAX_LIMIT, cursor })
      items.push(...next.items)
      cursor = next.nextCursor
    }
    return { ...first, items }
  })
