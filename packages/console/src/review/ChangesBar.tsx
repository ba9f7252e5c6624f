/**
 * Toolbar of the changes: totals, viewed files, a menu for all files, and the layout of diffs: unified, or side by side where the page is wide enough.
 * The layout is a preference of the user.
 */
import { Menu } from "@base-ui/react/menu"
import type { ReactNode } from "react"
import type { Layout } from "../diff/rows.ts"
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useMedia, withoutPanel } from "../ui/useMedia.ts"
import { reviewMessages } from "./messages.ts"
import "../diff/diff.css"
import "./changes.css"
import "./review.css"

/** Where the panel stands beside the thread. */
const WIDE_ENOUGH = `not all and ${withoutPanel}`

interface DiffLayout {
  readonly layout: Layout
  readonly canSplit: boolean
  readonly selectLayout: (layout: Layout) => void
}

/** Layout of diffs, as the user prefers it and the page has room for it. */
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

interface ChangesBarProps {
  /** Selects the turn. */
  readonly scope: ReactNode
  readonly fileCount: number
  readonly viewedCount: number
  /** Whether the Hub has more files than these. */
  readonly hasMore: boolean
  /** Absent while they are not known: no counts are not zero. */
  readonly totals: { readonly additions: number; readonly deletions: number } | undefined
  readonly isTreeOpen: boolean
  readonly onTree: () => void
  readonly onOpenAll: (isOpen: boolean) => void
  readonly onLoad: () => void
  /** Further entries of the menu. */
  readonly menu?: ReactNode
}

/** Toolbar of the changes: totals, viewed files, the layout, and a menu for all files. */
export const ChangesBar = (props: ChangesBarProps) => {
  const messages = useMessages(reviewMessages)
  const { canSplit, layout, selectLayout } = useDiffLayout()
  const { fileCount, hasMore, isTreeOpen, menu, onLoad, onOpenAll, onTree, scope, totals, viewedCount } =
    props
  return (
    <div className="panel-bar">
      {scope}
      <span className="changes-counts">
        {totals !== undefined && (
          <>
            {hasMore ? messages.firstFiles(fileCount) : messages.files(fileCount)}{" "}
            {fileCount > 0 && (
              <>
                <ins className="diff-plus">+{totals.additions}</ins>{" "}
                <del className="diff-minus">−{totals.deletions}</del>
              </>
            )}
          </>
        )}
        {fileCount > 0 && <span className="quiet"> · {messages.viewedCount(viewedCount, fileCount)}</span>}
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label={messages.tree}
        title={messages.tree}
        aria-pressed={isTreeOpen}
        onClick={onTree}
      >
        <Icon name="tree" />
      </button>
      {canSplit && (
        <button
          type="button"
          className="icon-button"
          aria-label={messages.split}
          title={messages.split}
          aria-pressed={layout === "split"}
          onClick={() => selectLayout(layout === "split" ? "unified" : "split")}
        >
          <Icon name="split" />
        </button>
      )}
      <Menu.Root>
        <Menu.Trigger className="icon-button" aria-label={messages.more} title={messages.more}>
          <Icon name="more" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" sideOffset={4} align="end">
            <Menu.Popup className="menu">
              <Menu.Item className="menu-item" onClick={() => onOpenAll(true)}>
                {messages.expandAll}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => onOpenAll(false)}>
                {messages.collapseAll}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={onLoad}>
                {messages.loadAgain}
              </Menu.Item>
              {menu}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </div>
  )
}
