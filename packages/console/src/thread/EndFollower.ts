/**
 * Follows the end of growing content in a scroller. Any upward gesture ends it; the end of the content, or a button, begins it again.
 *
 * Guarantees: content that grows, shrinks or unfolds never counts as a gesture, and an element that is held stays where it is. Nothing scrolls
 * smoothly.
 */
import { createContext, useContext } from "react"

/** Pixels from the end that count as the end. */
const NEAR_END = 40
/** Pixels that rounding may move content by. */
const ROUNDING = 2

/** A new object for each change. */
export interface EndState {
  readonly isFollowing: boolean
  readonly isAtEnd: boolean
  /** Whether content has arrived that the reader has not seen. */
  readonly hasNew: boolean
}

interface Held {
  readonly element: Element
  /** Its place in the content. */
  readonly offset: number
}

export class EndFollower {
  private current: EndState = { isFollowing: true, isAtEnd: true, hasNew: false }
  private readonly listeners = new Set<() => void>()
  private scroller: HTMLElement | undefined
  private held: Held | undefined
  /** Position and size at the last event. */
  private last = { top: 0, height: 0, visible: 0 }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly state = (): EndState => this.current

  /** Follows the content of a scroller, which changes its height with what is below it. Returns the end of it. */
  observe(scroller: HTMLElement, content: Element): () => void {
    this.scroller = scroller
    const observer = new ResizeObserver(() => this.settle())
    observer.observe(content)
    observer.observe(scroller)
    this.settle()
    return () => observer.disconnect()
  }

  /** Follows the end no longer. */
  leave(): void {
    this.update({ isFollowing: false })
  }

  jumpToEnd(): void {
    this.held = undefined
    this.update({ isFollowing: true })
    this.settle()
  }

  /** Reports new content, which may be below the visible part. */
  noteNew(): void {
    if (!this.current.isFollowing) this.update({ hasNew: true })
  }

  /** Keeps an element where it is while the content around it changes, in this frame or until `release`. */
  holdInPlace(element: Element, until?: "release"): void {
    this.last.top = this.scroller?.scrollTop ?? 0
    this.held = { element, offset: element.getBoundingClientRect().top + this.last.top }
    if (until === undefined) this.release()
  }

  release(): void {
    requestAnimationFrame(() => requestAnimationFrame(() => (this.held = undefined)))
  }

  onScroll(): void {
    const { scroller } = this
    if (scroller === undefined) return
    const { clientHeight: visible, scrollHeight: height, scrollTop: top } = scroller
    const before = this.last
    this.last = { top, height, visible }
    const isAtEnd = height - top - visible <= NEAR_END
    const isResized = height !== before.height || visible !== before.visible
    const isUpward = top < before.top - ROUNDING && !isResized
    const isFollowing = this.current.isFollowing ? !isUpward : isAtEnd && top > before.top
    this.update({ isAtEnd, isFollowing })
  }

  /** After a change of the layout, before it is painted. */
  private settle(): void {
    const { held, scroller } = this
    if (scroller === undefined) return
    if (held?.element.isConnected === true) {
      const moved = held.element.getBoundingClientRect().top - (held.offset - this.last.top)
      if (Math.abs(moved) > 1) scroller.scrollTop += moved
      this.held = { ...held, offset: held.element.getBoundingClientRect().top + scroller.scrollTop }
    } else if (this.current.isFollowing) scroller.scrollTop = scroller.scrollHeight
    const { clientHeight: visible, scrollHeight: height, scrollTop: top } = scroller
    this.last = { top, height, visible }
    this.update({ isAtEnd: height - top - visible <= NEAR_END })
  }

  private update(change: Partial<EndState>): void {
    const next = { ...this.current, ...change }
    if (next.isFollowing) next.hasNew = false
    const { hasNew, isAtEnd, isFollowing } = this.current
    if (next.hasNew === hasNew && next.isAtEnd === isAtEnd && next.isFollowing === isFollowing) return
    this.current = next
    for (const listener of this.listeners) listener()
  }
}

interface FollowState {
  readonly end: EndFollower
  readonly isFollowing: boolean
}

/** The followed end of the thread, for its rows. */
export const FollowContext = createContext<FollowState>({ end: new EndFollower(), isFollowing: false })

export const useFollowState = (): FollowState => useContext(FollowContext)
