/** Scrolling that follows the end of growing content until the user scrolls away, and again once the user is back at the end. */
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useRef,
  useState,
  type WheelEvent
} from "react"

/** Pixels from the end that count as the end. */
const NEAR_END = 48

const isNearEnd = ({ clientHeight, scrollHeight, scrollTop }: HTMLElement): boolean =>
  scrollHeight - scrollTop - clientHeight < NEAR_END

export const useFollowEnd = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [isFollowing, setIsFollowing] = useState(true)
  /** The same for event handlers, which run before the next render. */
  const follows = useRef(true)

  const scrollToEnd = useCallback(() => {
    const element = scroller.current
    if (element !== null) element.scrollTop = element.scrollHeight
  }, [])

  // Content may grow at any place above the end.
  useEffect(() => {
    const [element, inner] = [scroller.current, content.current]
    if (element === null || inner === null) return undefined
    const observer = new ResizeObserver(() => {
      if (follows.current) scrollToEnd()
    })
    observer.observe(inner)
    observer.observe(element)
    return () => observer.disconnect()
  }, [scrollToEnd])

  const follow = (next: boolean) => {
    follows.current = next
    setIsFollowing(next)
  }
  const stopAwayFromEnd = () => {
    if (!follows.current) return
    // The browser scrolls after this event.
    requestAnimationFrame(() => {
      const element = scroller.current
      if (element !== null && !isNearEnd(element)) follow(false)
    })
  }
  const handlers = {
    /** Growing content scrolls too, so that scrolling starts following but never stops it. */
    onScroll: () => {
      const element = scroller.current
      if (element !== null && !follows.current && isNearEnd(element)) follow(true)
    },
    onWheel: ({ deltaY }: WheelEvent) => {
      if (deltaY < 0) follow(false)
      else stopAwayFromEnd()
    },
    onTouchMove: stopAwayFromEnd,
    onKeyDown: ({ key, target }: KeyboardEvent) => {
      if (target === scroller.current && ["ArrowUp", "PageUp", "Home"].includes(key)) follow(false)
    },
    /** The scroll bar or a text selection: both keep the position. */
    onPointerDown: ({ target }: PointerEvent) => {
      if (target === scroller.current) follow(false)
    }
  }
  const jumpToEnd = () => {
    follow(true)
    scrollToEnd()
  }
  return { scroller, content, isFollowing, handlers, jumpToEnd }
}
