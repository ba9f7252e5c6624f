/** Search of the Hub for a query, a moment after the last key. A newer query cancels the request of an older one. */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { queryWords } from "./rank.ts"

const PAUSE_MS = 150
const MOST = 30
const MAX_CHARACTERS = 200

const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

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
  const settled = useSettled(wanted)
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
