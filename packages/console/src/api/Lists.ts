/** Lists of the Hub, page after page by their cursor. */
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query"

export interface HubPage<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

export interface PageAsk {
  /** Goes into the query; without a cursor it is the first page. */
  readonly page: { readonly limit: number; readonly cursor?: string }
  readonly signal: AbortSignal
}

const PAGE_SIZE = 50

export interface List<A> {
  readonly items: ReadonlyArray<A>
  readonly error: Error | null
  /** Nothing has come yet. */
  readonly isLoading: boolean
  readonly isLoadingMore: boolean
  /** Reads the next page; absent where there is none. */
  readonly more: (() => void) | undefined
}

/** `read` asks for one page; the key names the list and its filter. */
export const useList = <A>(
  queryKey: QueryKey,
  read: (ask: PageAsk) => Promise<HubPage<A>>,
  options: { readonly enabled?: boolean } = {}
): List<A> => {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      read({ signal, page: { limit: PAGE_SIZE, ...(pageParam === "" ? {} : { cursor: pageParam }) } }),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor,
    ...options
  })
  return {
    items: query.data?.pages.flatMap(({ items }) => items) ?? [],
    error: query.error,
    isLoading: query.isLoading,
    isLoadingMore: query.isFetchingNextPage,
    more: query.hasNextPage ? () => void query.fetchNextPage() : undefined
  }
}
