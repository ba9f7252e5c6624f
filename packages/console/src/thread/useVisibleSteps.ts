/**
 * The steps of a run that are in the page. A run may have 100,000: while the end is followed, the page has the last few hundred.
 *
 * Guarantees: no step leaves the page while the reader is not at the end.
 */
import { useReducer, useRef } from "react"

/** Steps at the end that are in the page, and where more arrive than can be read: a screen of them. */
const TAIL = 200
const SCREEN = 30
/** Steps that arrive between two renders, which are too many to read. */
const FAST = 50
/** The first step in the page moves in such steps, so that it rarely moves. */
const BATCH = 10
/** Steps that come into the page while the reader is elsewhere, and with each request for more. */
const MORE = 1_000

export interface VisibleSteps {
  readonly from: number
  readonly to: number
  readonly showEarlier: () => void
  readonly showLater: () => void
}

const tailStart = (count: number, arrived: number): number =>
  count <= TAIL ? 0 : Math.floor((count - (arrived > FAST ? SCREEN : TAIL)) / BATCH) * BATCH

export const useVisibleSteps = (count: number, isFollowing: boolean): VisibleSteps => {
  const shown = useRef({ from: 0, to: 0 })
  const [, render] = useReducer((n: number) => n + 1, 0)
  const { from, to } = shown.current
  // Derived from the steps before: a render that is thrown away changes nothing else.
  shown.current = isFollowing
    ? { from: Math.max(Math.min(from, count), tailStart(count, count - to)), to: count }
    : { from, to: Math.min(count, Math.max(to, from + MORE)) }
  return {
    ...shown.current,
    showEarlier: () => {
      shown.current = { ...shown.current, from: Math.max(0, shown.current.from - MORE) }
      render()
    },
    showLater: () => {
      shown.current = { ...shown.current, to: Math.min(count, shown.current.to + MORE) }
      render()
    }
  }
}
