/** Paged lists of the Hub. */
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query"
import { useRef } from "react"

export interface HubPage<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

export interface PageRequest {
  /** Query of the page. Without a cursor it is the first page. */
  readonly page: { readonly limit: number; readonly cursor?: string }
  readonly signal: AbortSignal
}

const PAGE_SIZE = 50

export interface List<A> {
  readonly items: ReadonlyArray<A>
  readonly error: Error | null
  /** Whether the first page is still loading. */
  readonly isLoading: boolean
  readonly isLoadingMore: boolean
  /** Loads the next page. Undefined on the last page. */
  readonly more: (() => void) | undefined
  /** Reads the list again. */
  readonly again: () => void
}

/** `read` loads one page. The key identifies the list and its filter. */
export const useList = <A>(
  queryKey: QueryKey,
  read: (ask: PageRequest) => Promise<HubPage<A>>,
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
    more: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
    again: () => void query.refetch()
  }
}

/** The same array while its items are the same. */
export const useSameItems = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const last = useRef(items)
  const isEqual = items.length === last.current.length && items.every((item, at) => item === last.current[at])
  if (!isEqual) last.current = items
  return last.current
}
