/**
 * The user's sessions by day, with their status and unread messages, and the filter that chooses which of them. Loads more as it scrolls. Alt+↑
 * and Alt+↓ open the neighbours.
 */
import { Menu } from "@base-ui/react/menu"
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { Session, SessionItem } from "@corral/domain/session/Session"
import { useQueries } from "@tanstack/react-query"
import { useLocation, useNavigate } from "@tanstack/react-router"
import { useEffect, useMemo, useRef, useState } from "react"
import { useProjects } from "../api/ProjectsAndTargets.ts"
import { type LoadedSessions, sessionQuery, useOpenSession, useSessions } from "../api/Sessions.ts"
import { type WorkStatus, useSessionStatuses } from "../status/SessionStatus.tsx"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useToday } from "../ui/Time.tsx"
import { SessionMenu, type SessionMenuTarget, usePins } from "./SessionMenu.tsx"
import { SessionScroll } from "./SessionScroll.tsx"
import { sidebarMessages } from "./messages.ts"
import { type SessionListRow, neighbourOf, sessionGroups, sessionListRows } from "./sessionGroups.ts"
import "./sidebar.css"

const sessionViews = ["all", "needsYou", "unread", "archived"] as const
/** What the session list shows: all sessions, those that need the user, unread ones or archived ones. Pure. */
type SessionView = (typeof sessionViews)[number]

const isInView = (
  { id, unread = 0 }: SessionItem,
  view: SessionView,
  statuses: ReadonlyMap<SessionId, WorkStatus>
): boolean => {
  switch (view) {
    case "needsYou":
      return statuses.get(id) === "needsYou"
    case "unread":
      return unread > 0
    default:
      return true
  }
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChoose: (value: string) => void
}

const FilterChoice = ({ choices, label, onChoose, value }: ChoiceProps) => (
  <Menu.Group>
    <Menu.GroupLabel className="menu-label">{label}</Menu.GroupLabel>
    <Menu.RadioGroup value={value} onValueChange={(chosen: string) => onChoose(chosen)}>
      {choices.map(([each, name]) => (
        <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick>
          <span className="menu-mark">{value === each ? "✓" : ""}</span>
          <bdi>{name}</bdi>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  </Menu.Group>
)

interface SessionFilterProps {
  readonly view: SessionView
  readonly onView: (view: SessionView) => void
  readonly projectId: ProjectId | undefined
  readonly onProject: (id: ProjectId | undefined) => void
}

/** Filter of the session list: what it shows, and of which project. */
const SessionFilter = ({ onProject, onView, projectId, view }: SessionFilterProps) => {
  const messages = useMessages(sidebarMessages)
  const projects = useProjects()
  const project = projects.find(({ id }) => id === projectId)
  return (
    <Menu.Root>
      <Menu.Trigger className="session-filter">
        <span>
          {messages.views[view]}
          {project !== undefined && (
            <>
              {" · "}
              <bdi>{project.name}</bdi>
            </>
          )}
        </span>
        <Icon name="fold" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" sideOffset={4} align="start">
          <Menu.Popup className="menu menu-long">
            <FilterChoice
              label={messages.show}
              value={view}
              choices={sessionViews.map((each) => [each, messages.views[each]])}
              onChoose={(chosen) => onView(sessionViews.find((each) => each === chosen) ?? "all")}
            />
            {projects.length > 1 && (
              <>
                <Menu.Separator className="menu-line" />
                <FilterChoice
                  label={messages.project}
                  value={projectId ?? ""}
                  choices={[
                    ["", messages.allProjects],
                    ...projects.map(({ id, name }) => [id, name] as const)
                  ]}
                  onChoose={(chosen) => onProject(projects.find(({ id }) => id === chosen)?.id)}
                />
              </>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

const loadedOf = (results: ReadonlyArray<{ readonly data: Session | undefined }>): ReadonlyArray<Session> =>
  results.flatMap(({ data }) => (data === undefined ? [] : [data]))

interface ShownSessions {
  readonly rows: ReadonlyArray<SessionListRow>
  readonly list: LoadedSessions
}

/** Rows of the session list for a view and a project: loaded sessions, with pinned ones that are not loaded yet. */
const useShownSessions = (view: SessionView, projectId: ProjectId | undefined): ShownSessions => {
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
