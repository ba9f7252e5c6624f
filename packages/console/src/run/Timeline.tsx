/** Timeline of a run: its blocks as they arrive. Renders only the visible blocks and follows the end. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useVirtualizer } from "@tanstack/react-virtual"
import { useMessages } from "../text/Language.tsx"
import { BlockView } from "./BlockView.tsx"
import type { RunFollower } from "./RunFollower.ts"
import { useFollowEnd } from "./useFollowEnd.ts"
import { useRunView } from "./useRunView.ts"
import { runMessages } from "./messages.ts"
import "./run.css"

/** As tall as its blocks and its border, up to the height of the screen, with a minimum height. */
const heightOf = (blocks: number): string =>
  `max(6rem, min(${blocks + 2}px, max(22rem, calc(100dvh - 23rem))))`

interface Props {
  readonly follower: RunFollower
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  readonly onDiff: () => void
}

export const Timeline = ({ follower, onDiff, projectId, runId, targetId }: Props) => {
  const messages = useMessages(runMessages)
  const { content, handlers, isFollowing, jumpToEnd, scroller } = useFollowEnd()
  const { blocks, dropped, state } = useRunView(follower).view
  const isOver = state === "completed" || state === "failed" || state === "cancelled"
  const virtual = useVirtualizer({
    count: blocks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 60,
    getItemKey: (at) => blocks[at]?.seq ?? at,
    overscan: 6,
    paddingEnd: 12
  })

  return (
    <div className="timeline">
      {dropped > 0 && <p className="quiet">{messages.dropped(dropped)}</p>}
      <div
        ref={scroller}
        className="timeline-scroll"
        style={{ height: heightOf(virtual.getTotalSize()) }}
        tabIndex={0}
        role="group"
        aria-label={messages.timeline}
        {...handlers}
      >
        {blocks.length === 0 && <p className="empty">{messages.empty}</p>}
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
      {!isFollowing && (
        <button type="button" className="button timeline-latest" onClick={jumpToEnd}>
          ↓ {messages.latest}
        </button>
      )}
    </div>
  )
}
