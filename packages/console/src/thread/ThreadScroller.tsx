/** Scroller of a thread: it follows its end until the reader scrolls up, and shows a button to return. */
import { type ReactNode, useMemo } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { FollowContext } from "./FollowContext.ts"
import { threadMessages } from "./messages.ts"
import { useFollowEnd } from "./useFollowEnd.ts"
import "./thread.css"

export const ThreadScroller = ({ children }: { readonly children: ReactNode }) => {
  const messages = useMessages(threadMessages)
  const { content, end, handlers, scroller, state } = useFollowEnd()
  const { hasNew, isAtEnd, isFollowing } = state
  return (
    <FollowContext value={useMemo(() => ({ end, isFollowing }), [end, isFollowing])}>
      <div className="thread-view">
        <div
          ref={scroller}
          className="thread-scroll"
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={messages.thread}
          {...handlers}
        >
          <div ref={content} className="thread-column">
            {children}
          </div>
        </div>
        {!isFollowing && !isAtEnd && (
          <button type="button" className="button to-end" onClick={() => end.jumpToEnd()}>
            <Icon name="down" />
            {hasNew ? messages.newBelow : messages.toEnd}
          </button>
        )}
      </div>
    </FollowContext>
  )
}
