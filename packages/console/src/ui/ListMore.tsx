/** Footer of a list: loading, error, empty text or a button for the next page. */
import type { ReactNode } from "react"
import type { List } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "./Loading.tsx"
import { MoreButton } from "./MoreButton.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiMessages } from "./messages.ts"

interface Props {
  readonly list: Omit<List<unknown>, "items"> & { readonly items: ReadonlyArray<unknown> }
  /** Shown if the list is empty. */
  readonly empty: ReactNode
  /** Rows that the list probably has. */
  readonly rows?: number
}

export const ListMore = ({ empty, list, rows = 3 }: Props) => {
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
