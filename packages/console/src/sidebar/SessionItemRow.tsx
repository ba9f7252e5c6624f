/** Row of a session: title, status, unread mark and the button of its menu. */
import { Link } from "@tanstack/react-router"
import { memo } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { StatusMark } from "../status/StatusMark.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import type { SessionMenuTarget } from "./SessionMenu.tsx"
import { sidebarMessages } from "./messages.ts"
import type { SessionListRow } from "./sessionRows.ts"
import "./sidebar.css"

interface Props {
  readonly row: Extract<SessionListRow, { kind: "session" }>
  readonly index: number
  /** Distance from the top of the list in CSS pixels. */
  readonly start: number
  readonly isOpen: boolean
  readonly isMenuOpen: boolean
  readonly onMenu: (target: SessionMenuTarget) => void
}

export const SessionItemRow = memo(({ index, isMenuOpen, isOpen, onMenu, row, start }: Props) => {
  const messages = useMessages(sidebarMessages)
  const { group, position, session, status } = row
  const { id, title } = session
  // The messages of the open session are on the screen.
  const unread = isOpen ? 0 : (session.unread ?? 0)
  const line = visibleLine(title)
  return (
    <li
      className="session-row"
      style={{ transform: `translateY(${start}px)` }}
      data-index={index}
      aria-setsize={group.sessions.length}
      aria-posinset={position}
    >
      <Link to="/sessions/$sessionId" params={{ sessionId: id }} className="session-link" title={line}>
        <span className={unread > 0 ? "session-text session-new" : "session-text"}>
          <bdi>{line}</bdi>
          {/* The name of the link for screen readers is the title and what needs attention. */}
          <span className="session-meta" aria-hidden={status === "idle"}>
            {status === "idle" ? <Time at={session.updatedAt} /> : <StatusMark status={status} />}
          </span>
        </span>
        {unread > 0 && (
          <>
            <span className="session-unread" aria-hidden="true" />
            <span className="hidden">{messages.unread(unread)}</span>
          </>
        )}
      </Link>
      <button
        type="button"
        className="session-more"
        aria-label={messages.actions(line)}
        aria-haspopup="menu"
        aria-expanded={isMenuOpen}
        onClick={({ currentTarget }) => onMenu({ session, button: currentTarget })}
      >
        <Icon name="more" />
      </button>
    </li>
  )
})
