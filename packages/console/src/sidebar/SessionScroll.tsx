/**
 * Scrolling part of the session list, with a row for each session: title, status, unread mark and the button of its menu. Renders the rows near
 * the visible part, so that thousands of sessions cost no more than a screen of them; each row has its position for screen readers, and a
 * focused row stays.
 */
import { Link } from "@tanstack/react-router"
import { type Range, defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, memo, useCallback, useEffect, useRef } from "react"
import type { LoadedSessions } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import { useMedia, withoutSidebar } from "../ui/useMedia.ts"
import type { SessionMenuTarget } from "./SessionMenu.tsx"
import { sidebarMessages } from "./messages.ts"
import { type SessionListRow, rowHeight, rowKey, rowsByGroup } from "./sessionGroups.ts"
import "./sidebar.css"

interface SessionItemRowProps {
  readonly row: Extract<SessionListRow, { kind: "session" }>
  readonly index: number
  /** Distance from the top of the list in CSS pixels. */
  readonly start: number
  readonly isOpen: boolean
  readonly isMenuOpen: boolean
  readonly onMenu: (target: SessionMenuTarget) => void
}

/** Row of a session: title, status, unread mark and the button of its menu. */
const SessionItemRow = memo(({ index, isMenuOpen, isOpen, onMenu, row, start }: SessionItemRowProps) => {
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

interface SessionScrollProps {
  readonly rows: ReadonlyArray<SessionListRow>
  readonly list: LoadedSessions
  /** Id of the open session. */
  readonly open: string | undefined
  readonly onMenu: (target: SessionMenuTarget) => void
  /** Id of the session whose menu is open. */
  readonly menuOf: string | undefined
  /** Shown if there are no rows. */
  readonly children: ReactNode
}

/** Rows before the end at which the next page is requested. */
const AHEAD = 15

const useSessionScroll = (rows: ReadonlyArray<SessionListRow>) => {
  const scroller = useRef<HTMLDivElement>(null)
  const touch = useMedia(withoutSidebar)
  const indexOfFocus = useCallback(() => {
    const at = document.activeElement?.closest("[data-index]")?.getAttribute("data-index")
    return at !== null && at !== undefined && scroller.current?.contains(document.activeElement) === true
      ? Number(at)
      : undefined
  }, [])
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => {
      const row = rows[at]
      return row === undefined ? 0 : rowHeight(row, touch)
    },
    getItemKey: (at) => {
      const row = rows[at]
      return row === undefined ? at : rowKey(row)
    },
    overscan: 8,
    rangeExtractor: (range: Range) => {
      const shown = defaultRangeExtractor(range)
      const focused = indexOfFocus()
      if (focused === undefined || focused >= range.count || shown.includes(focused)) return shown
      return [...shown, focused].toSorted((a, b) => a - b)
    }
  })
  // Heights are known, not measured: they change with the status of a session and with the width of the screen.
  useEffect(() => virtual.measure(), [rows, touch, virtual])
  return { scroller, virtual }
}

export const SessionScroll = ({ children, list, menuOf, onMenu, open, rows }: SessionScrollProps) => {
  const messages = useMessages(sidebarMessages)
  const { scroller, virtual } = useSessionScroll(rows)
  const items = virtual.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) >= rows.length - AHEAD
  const { again, isLoading, more } = list
  useEffect(() => {
    if (isNearEnd) more?.()
  })
  useEffect(() => {
    const at = open === undefined ? -1 : rows.findIndex((row) => rowKey(row) === open)
    if (at !== -1) virtual.scrollToIndex(at, { align: "auto" })
    // Only when another session opens: later changes of the list keep the reader's place.
  }, [open, rows.length > 0])
  const placed = items.flatMap(({ index, start }) => {
    const row = rows[index]
    return row === undefined ? [] : [{ row, start, index }]
  })
  return (
    <div ref={scroller} className="session-scroll">
      {rows.length === 0 && more === undefined && (
        <p className="session-empty" role="status">
          {isLoading ? messages.loading : children}
        </p>
      )}
      <div className="session-all" style={{ height: virtual.getTotalSize() }}>
        {rowsByGroup(placed).map(({ group, rows: shown }) => (
          <div key={group.key}>
            {shown[0]?.row.kind === "heading" && (
              <h2 className="session-day" style={{ transform: `translateY(${shown[0].start}px)` }}>
                {group.label}
              </h2>
            )}
            <ul aria-label={group.label}>
              {shown.map(
                ({ index, row, start }) =>
                  row.kind === "session" && (
                    <SessionItemRow
                      key={row.session.id}
                      index={index}
                      row={row}
                      start={start}
                      isOpen={row.session.id === open}
                      isMenuOpen={row.session.id === menuOf}
                      onMenu={onMenu}
                    />
                  )
              )}
            </ul>
          </div>
        ))}
      </div>
      {again !== undefined && (
        <button type="button" className="button small" onClick={again}>
          {messages.failed} {messages.again}
        </button>
      )}
    </div>
  )
}
