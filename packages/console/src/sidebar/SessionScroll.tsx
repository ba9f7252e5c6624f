/**
 * Scrolling part of the session list. Renders the rows near the visible part, so that thousands of sessions cost no more than a screen of them;
 * each row has its position for screen readers, and a focused row stays.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useCallback, useEffect, useRef } from "react"
import type { LoadedSessions } from "../api/Sessions.ts"
import { useMessages } from "../text/Language.tsx"
import { useMedia, withoutSidebar } from "../ui/useMedia.ts"
import type { SessionMenuTarget } from "./SessionMenu.tsx"
import { SessionItemRow } from "./SessionItemRow.tsx"
import { sidebarMessages } from "./messages.ts"
import { rowHeight, rowKey, rowsByGroup, type SessionListRow } from "./sessionRows.ts"
import "./sidebar.css"

interface Props {
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

export const SessionScroll = ({ children, list, menuOf, onMenu, open, rows }: Props) => {
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
