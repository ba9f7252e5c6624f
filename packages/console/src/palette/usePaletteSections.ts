/** Content of the palette for a query, with the state of the search. */
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { useNavigate } from "@tanstack/react-router"
import { type TypedSearch, useTypedSearch } from "../api/useTypedSearch.ts"
import { visibleLine } from "../markdown/visible.ts"
import type { IconName } from "../ui/Icon.tsx"
import type { PaletteItem, PaletteSection } from "./PaletteItem.ts"
import { paletteSections } from "./paletteSections.ts"
import { useCommands } from "./useCommands.ts"
import { usePlaces } from "./usePlaces.ts"
import { hubApi } from "../api/Hub.ts"
import { queryWords } from "./rank.ts"

const MOST = 30
const MAX_CHARACTERS = 200

/** Search of the Hub for the query of the palette. */
const useHubSearch = (query: string): TypedSearch<SearchResult> => {
  // The words that the Hub accepts.
  const words = queryWords(query).join(" ").slice(0, MAX_CHARACTERS).trim()
  return useTypedSearch(["search"], words === "" ? undefined : words, (q, signal) =>
    hubApi.search.find({ query: { q, limit: MOST }, signal })
  )
}

const icons: { readonly [K in SearchResult["kind"]]: IconName } = {
  title: "message",
  message: "message",
  prompt: "message",
  result: "agent",
  files: "file"
}

/** Search parameters of the session's page that lead to the result. */
const placeOf = (
  kind: SearchResult["kind"],
  runId: SearchResult["runId"],
  messageId: SearchResult["messageId"]
): { readonly run?: string; readonly at?: string } => {
  if (kind === "files") return runId === undefined ? {} : { run: runId }
  const at = messageId ?? runId
  return at === undefined ? {} : { at }
}

export interface PaletteView {
  readonly sections: ReadonlyArray<PaletteSection>
  readonly search: TypedSearch<SearchResult>
}

export const usePaletteSections = (query: string, onKeys: () => void): PaletteView => {
  const navigate = useNavigate()
  const places = usePlaces()
  const commands = useCommands(onKeys)
  const search = useHubSearch(query)
  /** Texts open in view, changed files with the changes of their run. */
  const open = ({ kind, messageId, runId, sessionId }: SearchResult) => {
    const search = kind === "files" ? { panel: "changes" } : {}
    if (sessionId === undefined)
      return runId === undefined ? undefined : navigate({ to: "/runs/$runId", params: { runId }, search })
    return navigate({
      to: "/sessions/$sessionId",
      params: { sessionId },
      search: { ...search, ...placeOf(kind, runId, messageId) }
    })
  }
  const itemOf = (result: SearchResult): PaletteItem => {
    const { at, excerpt, kind, messageId, runId, sessionId } = result
    const session = places.sessions.find(({ key }) => key === sessionId)
    return {
      key: kind === "title" ? String(sessionId) : `${kind} ${messageId ?? runId ?? sessionId}`,
      icon: icons[kind],
      // Marks of Markdown are not what was searched for.
      title: visibleLine(excerpt.replaceAll("`", "").replaceAll("**", ""), 240),
      detail: kind === "title" ? undefined : session?.title,
      at,
      run: () => void open(result)
    }
  }
  const content = { local: { ...places, commands }, results: search.items, itemOf }
  return { sections: paletteSections(query, content), search }
}
