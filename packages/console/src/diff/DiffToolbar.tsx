/** Toolbar of a diff: totals, layout, and buttons for all files. */
import { useMessages } from "../text/Language.tsx"
import type { Layout } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import "./diff.css"

interface Props {
  readonly fileCount: number
  /** Whether the Hub has more files than these. */
  readonly hasMore: boolean
  readonly totals: { readonly additions: number; readonly deletions: number } | undefined
  readonly layout: Layout
  readonly onLayout: (layout: Layout) => void
  readonly onOpenAll: (isOpen: boolean) => void
  readonly onRefresh: () => void
}

export const DiffToolbar = ({
  fileCount,
  hasMore,
  layout,
  onLayout,
  onOpenAll,
  onRefresh,
  totals
}: Props) => {
  const messages = useMessages(diffMessages)
  return (
    <div className="diff-bar">
      <span>
        {messages.files(fileCount)}
        {hasMore && "+"} <ins className="diff-plus">+{totals?.additions}</ins>{" "}
        <del className="diff-minus">−{totals?.deletions}</del>
      </span>
      <fieldset className="diff-layout">
        <legend className="hidden">{messages.layout}</legend>
        {(["unified", "split"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={layout === name} onClick={() => onLayout(name)}>
            {messages[name]}
          </button>
        ))}
      </fieldset>
      <button type="button" className="button" onClick={() => onOpenAll(true)}>
        {messages.expandAll}
      </button>
      <button type="button" className="button" onClick={() => onOpenAll(false)}>
        {messages.collapseAll}
      </button>
      <button type="button" className="button" onClick={onRefresh}>
        {messages.refresh}
      </button>
    </div>
  )
}
