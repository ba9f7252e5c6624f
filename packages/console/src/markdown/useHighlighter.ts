/** What colours code, in a file of its own that is fetched when the first code is shown. */
import { useEffect, useState } from "react"
import type * as Highlighter from "./Highlighter.ts"

let loaded: typeof Highlighter | undefined

/** `undefined` until it is there, or where it is not wanted: code without colours is code all the same. */
export const useHighlighter = (wanted: boolean): typeof Highlighter | undefined => {
  const [highlighter, setHighlighter] = useState(loaded)
  useEffect(() => {
    if (!wanted || highlighter !== undefined) return undefined
    let gone = false
    const load = async () => {
      loaded = await import("./Highlighter.ts")
      if (!gone) setHighlighter(loaded)
    }
    load().catch(() => undefined)
    return () => {
      gone = true
    }
  }, [wanted, highlighter])
  return wanted ? highlighter : undefined
}
