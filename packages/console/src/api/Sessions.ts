/** Sessions of the user: lists that load as they scroll and stay current, single sessions, their titles, and their changes. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { Session, SessionItem, UpdateSession } from "@corral/domain/session/Session"
import { type QueryClient, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "./Hub.ts"
import { type SessionPages, withFirstPage, withNextPage, withSession } from "./SessionPages.ts"

export interface SessionListFilter {
  readonly state: "active" | "archived"
  readonly projectId?: ProjectId
}

export interface LoadedSessions {
  readonly items: ReadonlyArray<SessionItem>
  readonly error: Error | null
  /** Whether the first page is still loading. */
  readonly isLoading: boolean
  /** Loads the next page, once. Undefined at the end. */
  readonly more: (() => void) | undefined
  /** Loads the next page again, after it failed. */
  readonly again: (() => void) | undefined
}

const FIRST_PAGE = 50
/** Later pages are for readers who scroll far. */
const NEXT_PAGES = 200

const listKey = (filter: SessionListFilter) => ["sessions", "pages", filter]

export const sessionQuery = (id: SessionId) =>
  queryOptions({
    queryKey: ["sessions", "one", id],
    queryFn: ({ signal }) => hubApi.sessions.get({ params: { id }, signal })
  })

const none: ReadonlyArray<SessionItem> = []

export const useSessions = (filter: SessionListFilter): LoadedSessions => {
  const client = useQueryClient()
  const queryKey = listKey(filter)
  const { data, error, isLoading } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const first = await hubApi.sessions.list({ query: { ...filter, limit: FIRST_PAGE }, signal })
      return withFirstPage(client.getQueryData<SessionPages>(queryKey), first)
    }
  })
  return { items: data?.items ?? none, error, isLoading, ...useMore(filter, data?.nextCursor ?? null) }
}

interface NextPage {
  readonly cursor: string
  readonly failed: boolean
}

const useMore = (
  filter: SessionListFilter,
  cursor: string | null
): Pick<LoadedSessions, "again" | "more"> => {
  const client = useQueryClient()
  const [next, setNext] = useState<NextPage>()
  if (cursor === null) return { more: undefined, again: undefined }
  const load = (): void => {
    const queryKey = listKey(filter)
    setNext({ cursor, failed: false })
    void hubApi.sessions.list({ query: { ...filter, limit: NEXT_PAGES, cursor } }).then(
      (page) =>
        client.setQueryData<SessionPages>(queryKey, (loaded) =>
          loaded === undefined ? loaded : withNextPage(loaded, cursor, page)
        ),
      () => setNext({ cursor, failed: true })
    )
  }
  const isRequested = next?.cursor === cursor
  return {
    more: () => {
      if (!isRequested) load()
    },
    again: isRequested && next.failed ? load : undefined
  }
}

/** Takes one session up in all loaded lists. */
const takeUp = (client: QueryClient, session: SessionItem): void => {
  for (const [queryKey] of client.getQueriesData<SessionPages>({ queryKey: ["sessions", "pages"] })) {
    const { projectId, state } = queryKey[2] as SessionListFilter
    const isListed = session.state === state && (projectId === undefined || projectId === session.projectId)
    client.setQueryData<SessionPages>(queryKey, (loaded) =>
      loaded === undefined ? loaded : withSession(loaded, session, isListed)
    )
  }
}

/** The open session. Its place in the lists follows what its page reads, such as its unread messages. */
export const useOpenSession = (id: SessionId | undefined): Session | undefined => {
  const client = useQueryClient()
  const { data } = useQuery({ ...sessionQuery(id ?? ("" as SessionId)), enabled: id !== undefined })
  useEffect(() => {
    if (data !== undefined) takeUp(client, data)
  }, [client, data])
  return data
}

/** Renames, archives or opens a session again. */
export const useUpdateSession = () => {
  const client = useQueryClient()
  return async (id: SessionId, payload: UpdateSession): Promise<void> => {
    takeUp(client, await hubApi.sessions.update({ params: { id }, payload }))
    await client.invalidateQueries({ queryKey: ["sessions"] })
  }
}

/** Title of a session: of a loaded list, or read alone for a session beyond it. `undefined` without a session, and until it is read. */
export const useSessionTitle = (id: SessionId | undefined): string | undefined => {
  const { isLoading, items } = useSessions({ state: "active" })
  const listed = items.find((session) => session.id === id)?.title
  const { data } = useQuery({
    // Not a key of `sessions`: hints about messages must not read all titles again.
    queryKey: ["session-title", id],
    queryFn: async ({ signal }) =>
      id === undefined ? "" : (await hubApi.sessions.get({ params: { id }, signal })).title,
    enabled: id !== undefined && listed === undefined && !isLoading,
    staleTime: 300_000
  })
  return listed ?? data
}
