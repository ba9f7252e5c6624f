/** Footer of a list: loading, error, empty text or a button for the next page. */
import type { ReactNode } from "react"
import type { List } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "./Loading.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiMessages } from "./messages.ts"

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
