/** Added and removed lines of a run. Nothing for a run without changes. */
import { useMessages } from "../text/Language.tsx"
import type { RunTail } from "./runTail.ts"
import { boardMessages } from "./messages.ts"
import "./board.css"

export const ChangeCounts = ({ changes }: { readonly changes: RunTail["changes"] }) => {
  const messages = useMessages(boardMessages)
  if (changes === undefined || changes.additions + changes.deletions === 0) return null
  const { additions, deletions } = changes
  return (
    <span className="change-counts" role="img" aria-label={messages.changes(additions, deletions)}>
      {additions > 0 && <span className="change-added">+{additions}</span>}{" "}
      {deletions > 0 && <span className="change-removed">−{deletions}</span>}
    </span>
  )
}
