/**
 * States of a list: quiet bars at the place of the rows while it loads, also for a page, and its footer, with an error, an empty text or a button for the
 * next page.
 */
import type { ReactNode } from "react"
import type { List } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiMessages } from "./messages.ts"

interface Props {
  /** Rows that the content probably has: a placeholder of the right height moves nothing. */
  readonly rows?: number
}

/** Placeholder while a page or a list loads. */
export const Loading = ({ rows = 3 }: Props) => (
  <div className="skeleton" role="status">
    <span className="hidden">{useMessages(uiMessages).loading}</span>
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} className="skeleton-row" aria-hidden="true" />
    ))}
  </div>
)

interface MoreButtonProps {
  readonly label: string
  readonly isLoading: boolean
  readonly onMore: () => void
}

/** Button below a list that loads its next page. */
export const MoreButton = ({ isLoading, label, onMore }: MoreButtonProps) => (
  <button type="button" className="button more" disabled={isLoading} onClick={onMore}>
    {label}
  </button>
)

interface ListMoreProps {
  readonly list: Omit<List<unknown>, "items"> & { readonly items: ReadonlyArray<unknown> }
  /** Shown if the list is empty. */
  readonly empty: ReactNode
  /** Rows that the list probably has. */
  readonly rows?: number
}

export const ListMore = ({ empty, list, rows = 3 }: ListMoreProps) => {
  const messages = useMessages(uiMessages)
  if (list.isLoading) return <Loading rows={rows} />
  return (
    <>
      <RefusalNote error={list.error} />
      {list.items.length === 0 && list.error === null && <div className="empty">{empty}</div>}
      {list.more !== undefined && (
        <MoreButton label={messages.more} isLoading={list.isLoadingMore} onMore={list.more} />
      )}
    </>
  )
}
