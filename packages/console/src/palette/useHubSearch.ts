/** Search of the Hub for the query of the palette. */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { hubApi } from "../api/Hub.ts"
import { type TypedSearch, useTypedSearch } from "../api/useTypedSearch.ts"
import { queryWords } from "./rank.ts"

const MOST = 30
const MAX_CHARACTERS = 200

export const useHubSearch = (query: string): TypedSearch<SearchResult> => {
  // The words that the Hub accepts.
  const words = queryWords(query).join(" ").slice(0, MAX_CHARACTERS).trim()
  return useTypedSearch(["search"], words === "" ? undefined : words, (q, signal) =>
    hubApi.search.find({ query: { q, limit: MOST }, signal })
  )
}
