/** Layout of diffs: unified, or side by side where the page is wide enough. Remembered in this browser. */
import { useCallback, useSyncExternalStore } from "react"
import { useMedia, withoutPanel } from "../ui/useMedia.ts"
import type { Layout } from "./rows.ts"

const STORED = "corral.diff.layout"
/** Where the panel stands beside the thread. */
const WIDE_ENOUGH = `not all and ${withoutPanel}`

const listeners = new Set<() => void>()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const storedLayout = (): Layout => (localStorage.getItem(STORED) === "split" ? "split" : "unified")

interface DiffLayout {
  readonly layout: Layout
  readonly canSplit: boolean
  readonly selectLayout: (layout: Layout) => void
}

export const useDiffLayout = (): DiffLayout => {
  const stored = useSyncExternalStore(subscribe, storedLayout)
  const canSplit = useMedia(WIDE_ENOUGH)
  const selectLayout = useCallback((layout: Layout) => {
    localStorage.setItem(STORED, layout)
    for (const listener of listeners) listener()
  }, [])
  return { layout: canSplit ? stored : "unified", canSplit, selectLayout }
}
