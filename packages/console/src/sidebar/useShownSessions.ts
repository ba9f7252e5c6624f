/** Rows of the session list for a view and a project: loaded sessions, with pinned ones that are not loaded yet. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQueries } from "@tanstack/react-query"
import { useMemo } from "react"
import { type LoadedSessions, sessionQuery, useSessions } from "../api/Sessions.ts"
import type { Session } from "@corral/domain/session/Session"
import { useSessionStatuses } from "../status/useSessionStatuses.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useToday } from "../ui/Time.tsx"
import { sidebarMessages } from "./messages.ts"
import { sessionGroups } from "./sessionGroups.ts"
import { type SessionListRow, sessionListRows } from "./sessionRows.ts"
import { isInView, type SessionView } from "./sessionView.ts"
import { usePins } from "./usePins.ts"

const loadedOf = (results: ReadonlyArray<{ readonly data: Session | undefined }>): ReadonlyArray<Session> =>
  results.flatMap(({ data }) => (data === undefined ? [] : [data]))

export interface ShownSessions {
  readonly rows: ReadonlyArray<SessionListRow>
  readonly list: LoadedSessions
}

export const useShownSessions = (view: SessionView, projectId: ProjectId | undefined): ShownSessions => {
  const state = view === "archived" ? "archived" : "active"
  const list = useSessions({ state, ...(projectId === undefined ? {} : { projectId }) })
  const statuses = useSessionStatuses()
  const { ids: pinned } = usePins()
  const { language } = useLanguage()
  const { days: labels } = useMessages(sidebarMessages)
  const now = useToday()
  const { items } = list
  const missing = list.isLoading ? [] : [...pinned].filter((id) => !items.some((item) => item.id === id))
  const others = useQueries({ queries: missing.map((id) => sessionQuery(id)), combine: loadedOf })
  const rows = useMemo(() => {
    const isListed = (session: Session) =>
      session.state === state && (projectId === undefined || session.projectId === projectId)
    const sessions = [...others.filter(isListed), ...items].filter((session) =>
      isInView(session, view, statuses)
    )
    return sessionListRows(sessionGroups(sessions, { pinned, now, language, labels }), statuses)
  }, [items, labels, language, now, others, pinned, projectId, state, statuses, view])
  return { rows, list }
}
