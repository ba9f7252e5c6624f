/** Scroller of a thread: it follows its end until the reader scrolls up, and shows a button to return. */
import {
  type ReactNode,
  useMemo,
  type KeyboardEvent,
  type MouseEvent,
  useLayoutEffect,
  useRef,
  useSyncExternalStore,
  type WheelEvent
} from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { FollowContext } from "./FollowContext.ts"
import { threadMessages } from "./messages.ts"
import { EndFollower } from "./EndFollower.ts"
import "./thread.css"

/** Scroller that follows the end of its content: its elements, its gestures and its state. */
const useFollowEnd = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const end = useMemo(() => new EndFollower(), [])
  const state = useSyncExternalStore(end.subscribe, end.state)
  useLayoutEffect(() => {
    const [element, inner] = [scroller.current, content.current]
    return element === null || inner === null ? undefined : end.observe(element, inner)
  }, [end])
  const handlers = {
    onScroll: () => end.onScroll(),
    onWheel: ({ deltaY }: WheelEvent) => {
      if (deltaY < 0) end.leave()
    },
    onKeyDown: ({ key, shiftKey, target }: KeyboardEvent) => {
      if (target instanceof Element && target.closest("input, textarea") !== null) return
      if (["ArrowUp", "PageUp", "Home"].includes(key) || (key === " " && shiftKey)) end.leave()
    },
    /** A fold opens or closes: its row stays, and the end is no longer followed. */
    onClickCapture: ({ target }: MouseEvent) => {
      const fold = target instanceof Element ? target.closest("summary, [aria-expanded]") : null
      if (fold === null) return
      end.holdInPlace(fold)
      end.leave()
    }
  }
  return { content, end, handlers, scroller, state }
}

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
