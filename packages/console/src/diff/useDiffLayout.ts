/** Layout of diffs: unified, or side by side where the page is wide enough. A preference of the user. */
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { useMedia, withoutPanel } from "../ui/useMedia.ts"
import type { Layout } from "./rows.ts"

/** Where the panel stands beside the thread. */
const WIDE_ENOUGH = `not all and ${withoutPanel}`

interface DiffLayout {
  readonly layout: Layout
  readonly canSplit: boolean
  readonly selectLayout: (layout: Layout) => void
}

export const useDiffLayout = (): DiffLayout => {
  const { diffLayout = "unified" } = usePreferences() ?? {}
  const change = useChangePreferences()
  const canSplit = useMedia(WIDE_ENOUGH)
  return {
    layout: canSplit ? diffLayout : "unified",
    canSplit,
    selectLayout: (layout) => change(() => ({ diffLayout: layout }))
  }
}
