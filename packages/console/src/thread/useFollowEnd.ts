/** Scroller that follows the end of its content: its elements, its gestures and its state. */
import {
  type KeyboardEvent,
  type MouseEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
  type WheelEvent
} from "react"
import { EndFollower } from "./EndFollower.ts"

export const useFollowEnd = () => {
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
