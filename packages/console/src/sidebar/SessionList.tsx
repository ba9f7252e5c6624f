/** The user's sessions by day, with their status and unread messages. Loads more as it scrolls. Alt+↑ and Alt+↓ open the neighbours. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { useLocation, useNavigate } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { useOpenSession } from "../api/Sessions.ts"
import { useMessages } from "../text/Language.tsx"
import { SessionFilter } from "./SessionFilter.tsx"
import { SessionMenu, type SessionMenuTarget } from "./SessionMenu.tsx"
import { SessionScroll } from "./SessionScroll.tsx"
import { sidebarMessages } from "./messages.ts"
import { neighbourOf, type SessionListRow } from "./sessionRows.ts"
import type { SessionView } from "./sessionView.ts"
import { useShownSessions } from "./useShownSessions.ts"
import "./sidebar.css"

const useNeighbourKeys = (rows: ReadonlyArray<SessionListRow>, open: string | undefined): void => {
  const navigate = useNavigate()
  const latest = useRef({ rows, open })
  latest.current = { rows, open }
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { altKey, ctrlKey, defaultPrevented, key, metaKey, shiftKey } = event
      if (defaultPrevented || !altKey || ctrlKey || metaKey || shiftKey) return
      if (key !== "ArrowUp" && key !== "ArrowDown") return
      const { open: current, rows: listed } = latest.current
      const next = neighbourOf(listed, current, key === "ArrowUp" ? -1 : 1)
      event.preventDefault()
      if (next !== undefined) void navigate({ to: "/sessions/$sessionId", params: { sessionId: next.id } })
    }
    addEventListener("keydown", onKeyDown)
    return () => removeEventListener("keydown", onKeyDown)
  }, [navigate])
}

/** Text from the URL is user input: the Hub validates it. */
const openSessionId = (path: string): SessionId | undefined => {
  const [, page, id = ""] = path.split("/")
  return page === "sessions" && id !== "" ? (id as SessionId) : undefined
}

export const SessionList = () => {
  const messages = useMessages(sidebarMessages)
  const [view, setView] = useState<SessionView>("all")
  const [projectId, setProjectId] = useState<ProjectId>()
  const [target, setTarget] = useState<SessionMenuTarget>()
  const open = openSessionId(useLocation().pathname)
  useOpenSession(open)
  const { list, rows } = useShownSessions(view, projectId)
  useNeighbourKeys(rows, open)
  return (
    <nav className="session-list" aria-label={messages.sessions}>
      <SessionFilter view={view} onView={setView} projectId={projectId} onProject={setProjectId} />
      <SessionScroll rows={rows} list={list} open={open} onMenu={setTarget} menuOf={target?.session.id}>
        {list.error !== null && rows.length === 0 ? messages.failed : messages.empty[view]}
      </SessionScroll>
      <SessionMenu target={target} onClose={() => setTarget(undefined)} />
    </nav>
  )
}
