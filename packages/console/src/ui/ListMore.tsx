/** What stands below a list: that it loads, why it cannot be read, that nothing is there, or the way to more. */
import type { ReactNode } from "react"
import type { List } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiMessages } from "./messages.ts"

interface Props {
  readonly list: Omit<List<unknown>, "items"> & { readonly items: ReadonlyArray<unknown> }
  /** Said where the list is empty. */
  readonly empty: ReactNode
}

export const ListMore = ({ empty, list }: Props) => {
  const messages = useMessages(uiMessages)
  if (list.isLoading)
    return (
      <p className="quiet" role="status">
        {messages.loading}
      </p>
    )
  return (
    <>
      <RefusalNote error={list.error} />
      {list.items.length === 0 && list.error === null && <div className="empty">{empty}</div>}
      {list.more !== undefined && (
        <button type="button" className="button more" disabled={list.isLoadingMore} onClick={list.more}>
          {messages.more}
        </button>
      )}
    </>
  )
}
