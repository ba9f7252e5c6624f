/**
 * What the run does, as it does it. Only what is in view is drawn; the end is followed until somebody scrolls away from it, and again once
 * they are back.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useVirtualizer } from "@tanstack/react-virtual"
import { useCallback, useEffect, useRef, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { BlockView } from "./BlockView.tsx"
import type { EventLog } from "./EventLog.ts"
import { useLogView } from "./useRunLog.ts"
import { runMessages } from "./messages.ts"
import "./run.css"

/** So near to the end counts as being there. */
const NEAR = 48

/** As tall as its blocks and its border, up to what the screen has; never so low that it cannot be read. */
const heightOf = (blocks: number): string =>
  `max(6rem, min(${blocks + 2}px, max(22rem, calc(100dvh - 23rem))))`

interface Props {
  readonly log: EventLog
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  readonly onDiff: () => void
}

export const Timeline = ({ log, onDiff, projectId, runId, targetId }: Props) => {
  const words = useMessages(runMessages)
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [following, setFollowing] = useState(true)
  const follows = useRef(true)
  const { blocks, dropped, state } = useLogView(log).fold
  const isOver = state === "completed" || state === "failed" || state === "cancelled"
  const virtual = useVirtualizer({
    count: blocks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 60,
    getItemKey: (at) => blocks[at]?.seq ?? at,
    overscan: 6,
    paddingEnd: 12
  })

  const toEnd = useCallback(() => {
    const element = scroller.current
    if (element !== null) element.scrollTop = element.scrollHeight
  }, [])

  // What grows, in whatever way, grows above the end.
  useEffect(() => {
    const [element, inner] = [scroller.current, content.current]
    if (element === null || inner === null) return undefined
    const observer = new ResizeObserver(() => {
      if (follows.current) toEnd()
    })
    observer.observe(inner)
    observer.observe(element)
    return () => observer.disconnect()
  }, [toEnd])

  const set = (next: boolean) => {
    follows.current = next
    setFollowing(next)
  }
  /** Only a person's doing ends the following: content that grows scrolls too. */
  const onScroll = () => {
    const element = scroller.current
    if (element === null || follows.current) return
    if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR) set(true)
  }
  const leave = () => {
    if (!follows.current) return
    // The browser scrolls after this event.
    requestAnimationFrame(() => {
      const element = scroller.current
      if (element !== null && element.scrollHeight - element.scrollTop - element.clientHeight >= NEAR)
        set(false)
    })
  }

  return (
    <div className="timeline">
      {dropped > 0 && <p className="quiet">{words.dropped(dropped)}</p>}
      <div
        ref={scroller}
        className="timeline-scroll"
        style={{ height: heightOf(virtual.getTotalSize()) }}
        tabIndex={0}
        role="group"
        aria-label={words.timeline}
        onScroll={onScroll}
        onWheel={({ deltaY }) => {
          if (deltaY < 0) {
            follows.current = false
            setFollowing(false)
          } else leave()
        }}
        onTouchMove={leave}
        onKeyDown={({ key, target }) => {
          if (target === scroller.current && ["ArrowUp", "PageUp", "Home"].includes(key)) set(false)
        }}
        onPointerDown={({ target }) => {
          // The scroll bar, or a text that is selected: either way the place is to stay.
          if (target === scroller.current) set(false)
        }}
      >
        {blocks.length === 0 && <p className="empty">{words.empty}</p>}
        <div ref={content} className="timeline-all" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const block = blocks[index]
            return (
              block !== undefined && (
                <div
                  key={key}
                  data-index={index}
                  ref={virtual.measureElement}
                  className="timeline-place"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <BlockView
                    block={block}
                    runId={runId}
                    projectId={projectId}
                    targetId={targetId}
                    isOver={isOver}
                    onDiff={onDiff}
                  />
                </div>
              )
            )
          })}
        </div>
      </div>
      {!following && (
        <button
          type="button"
          className="button timeline-latest"
          onClick={() => {
            set(true)
            toEnd()
          }}
        >
          ↓ {words.latest}
        </button>
      )}
    </div>
  )
}
