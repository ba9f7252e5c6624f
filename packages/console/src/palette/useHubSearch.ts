/** Search of the Hub for a query, a moment after the last key. A newer query cancels the request of an older one. */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useSettled } from "../text/useSettled.ts"
import { queryWords } from "./rank.ts"

const PAUSE_MS = 150
const MOST = 30
const MAX_CHARACTERS = 200

export interface HubSearchState {
  readonly results: ReadonlyArray<SearchResult>
  readonly isSearching: boolean
  readonly error: Error | null
  readonly again: () => void
}

const none: ReadonlyArray<SearchResult> = []

export const useHubSearch = (query: string): HubSearchState => {
  // The words that the Hub accepts.
  const wanted = queryWords(query).join(" ").slice(0, MAX_CHARACTERS).trim()
  const settled = useSettled(wanted, PAUSE_MS)
  const isEmpty = settled === "" || wanted === ""
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["search", settled],
    queryFn: ({ signal }) => hubApi.search.find({ query: { q: settled, limit: MOST }, signal }),
    enabled: !isEmpty,
    placeholderData: keepPreviousData
  })
  return {
    results: isEmpty ? none : (data?.items ?? none),
    isSearching: wanted !== "" && (wanted !== settled || isFetching),
    error: isEmpty ? null : error,
    again: () => void refetch()
  }
}
