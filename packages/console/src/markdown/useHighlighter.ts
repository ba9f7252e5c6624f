/** Highlighter, loaded with the first code block. */
import { useEffect, useState } from "react"
import type * as Highlighter from "./Highlighter.ts"

let loaded: typeof Highlighter | undefined

/** Returns `undefined` until it has loaded, or if it is not wanted. */
export const useHighlighter = (wanted: boolean): typeof Highlighter | undefined => {
  const [highlighter, setHighlighter] = useState(loaded)
  useEffect(() => {
    if (!wanted || highlighter !== undefined) return undefined
    let isUnmounted = false
    const load = async () => {
      loaded = await import("./Highlighter.ts")
      if (!isUnmounted) setHighlighter(loaded)
    }
    load().catch(() => undefined)
    return () => {
      isUnmounted = true
    }
  }, [wanted, highlighter])
  return wanted ? highlighter : undefined
}
