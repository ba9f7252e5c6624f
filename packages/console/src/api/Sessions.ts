/** Sessions of the user: lists that load as they scroll and stay current, single sessions, their titles, and their changes. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { Session, SessionItem, UpdateSession } from "@corral/domain/session/Session"
import { type QueryClient, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "./Hub.ts"

/**
 * Loaded part of a list of sessions, newest change first, and how it takes up newer answers. Pure.
 *
 * A session that changes moves to the top, so the first page contains what changed since: a list of thousands is never read again.
 */
export interface SessionPages {
  readonly items: ReadonlyArray<SessionItem>
  /** Cursor of the next page, `null` at the end. */
  readonly nextCursor: string | null
}

const isOlder = (a: SessionItem, b: SessionItem): boolean =>
  a.updatedAt === b.updatedAt ? a.id < b.id : a.updatedAt < b.updatedAt

/** Sessions that are not in the other list. */
const without = (items: ReadonlyArray<SessionItem>, others: ReadonlyArray<SessionItem>) => {
  const ids = new Set(others.map(({ id }) => id))
  return items.filter(({ id }) => !ids.has(id))
}

/**
 * Takes up a newly read first page. Without a session in common that did not change, there may be others between the page and the loaded part:
 * then only the page remains, and the rest is loaded again as the reader scrolls.
 */
export const withFirstPage = (loaded: SessionPages | undefined, first: SessionPages): SessionPages => {
  const last = first.items.at(-1)
  if (loaded === undefined || last === undefined || first.nextCursor === null) return first
  const before = new Map(loaded.items.map(({ id, updatedAt }) => [id, updatedAt]))
  if (!first.items.some(({ id, updatedAt }) => before.get(id) === updatedAt)) return first
  const older = without(loaded.items, first.items).filter((item) => isOlder(item, last))
  return older.length === 0 ? first : { items: [...first.items, ...older], nextCursor: loaded.nextCursor }
}

/** Appends the page that `cursor` requested, if it still continues the list. */
export const withNextPage = (loaded: SessionPages, cursor: string, page: SessionPages): SessionPages =>
  loaded.nextCursor === cursor
    ? { items: [...loaded.items, ...without(page.items, loaded.items)], nextCursor: page.nextCursor }
    : loaded

/** Takes up one session that was read or changed alone. `isListed`: whether the list's filter admits it. */
export const withSession = (
  loaded: SessionPages,
  { id, projectId, state, title, unread, updatedAt }: SessionItem,
  isListed: boolean
): SessionPages => {
  const session: SessionItem = {
    id,
    projectId,
    state,
    title,
    updatedAt,
    ...(unread === undefined ? {} : { unread })
  }
  const before = loaded.items.find((item) => item.id === id)
  if (before !== undefined && isListed && before.updatedAt === updatedAt)
    return before.unread === unread && before.title === title
      ? loaded
      : { ...loaded, items: loaded.items.map((item) => (item.id === id ? session : item)) }
  if (before === undefined && !isListed) return loaded
  const others = loaded.items.filter((item) => item.id !== id)
  if (!isListed) return { ...loaded, items: others }
  const at = others.findIndex((item) => isOlder(item, session))
  // Beyond the loaded part it comes with its page.
  if (at === -1 && loaded.nextCursor !== null) return { ...loaded, items: others }
  return { ...loaded, items: others.toSpliced(at === -1 ? others.length : at, 0, session) }
}

interface SessionListFilter {
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
