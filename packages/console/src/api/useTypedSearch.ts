/**
 * Search for what is typed, a moment after the last key.
 *
 * Guarantees: a newer query cancels the request of an older one, whose results stay until the newer ones are there.
 */
import { type QueryKey, keepPreviousData, skipToken, useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"

/** A value that is typed, once no key has changed it for a while. */
const useSettled = <A>(value: A, pauseMs: number): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value, pauseMs])
  return settled
}

const PAUSE_MS = 120

export interface TypedSearch<A> {
  /** While `isSearching`, those of the query before. */
  readonly items: ReadonlyArray<A>
  readonly isSearching: boolean
  readonly error: Error | null
  readonly again: () => void
}

const none: ReadonlyArray<never> = []

/** Searches nothing without a query. `place` identifies what is searched. */
export const useTypedSearch = <A>(
  place: QueryKey,
  query: string | undefined,
  find: (query: string, signal: AbortSignal) => Promise<{ readonly items: ReadonlyArray<A> }>
): TypedSearch<A> => {
  const settled = useSettled(query, PAUSE_MS)
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: [...place, settled],
    queryFn: settled === undefined ? skipToken : ({ signal }) => find(settled, signal),
    enabled: query !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    retry: false
  })
  const isCurrent = query === settled
  const isSearched = query !== undefined
  return {
    items: isSearched ? (data?.items ?? none) : none,
    isSearching: isSearched && (!isCurrent || isPlaceholderData || (data === undefined && isFetching)),
    error: isSearched && isCurrent ? error : null,
    again: () => void refetch()
  }
}
