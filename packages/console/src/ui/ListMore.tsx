/** What stands below a list: that it loads, why it cannot be read, that nothing is there, or the way to more. */
import type { ReactNode } from "react"
import type { List } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiWords } from "./messages.ts"

interface Props {
  readonly list: Omit<List<unknown>, "items"> & { readonly items: ReadonlyArray<unknown> }
  /** Said where the list is empty. */
  readonly empty: ReactNode
}

export const ListMore = ({ empty, list }: Props) => {
  const words = useWords(uiWords)
  if (list.isLoading)
    return (
      <p className="quiet" role="status">
        {words.loading}
      </p>
    )
  return (
    <>
      <RefusalNote error={list.error} />
      {list.items.length === 0 && list.error === null && <div className="empty">{empty}</div>}
      {list.more !== undefined && (
        <button type="button" className="button more" disabled={list.isLoadingMore} onClick={list.more}>
          {words.more}
        </button>
      )}
    </>
  )
}
