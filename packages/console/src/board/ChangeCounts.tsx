/** Added and removed lines of a run. Nothing for a run without changes, and "unknown" for one whose changes are. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { unknownChangesMessages } from "../run/unknownChanges.ts"
import { useMessages } from "../text/Language.tsx"
import type { RunTail } from "./runTail.ts"
import { boardMessages } from "./messages.ts"
import "./board.css"

interface Props {
  readonly changes: RunTail["changes"]
  readonly run: Pick<HubRun, "changesUnknown">
}

export const ChangeCounts = ({ changes, run }: Props) => {
  const messages = useMessages(boardMessages)
  const unknown = useMessages(unknownChangesMessages)
  if (run.changesUnknown !== undefined) return <span className="change-counts">{unknown.title}</span>
  if (changes === undefined || changes.additions + changes.deletions === 0) return null
  const { additions, deletions } = changes
  return (
    <span className="change-counts" role="img" aria-label={messages.changes(additions, deletions)}>
      {additions > 0 && <span className="change-added">+{additions}</span>}{" "}
      {deletions > 0 && <span className="change-removed">−{deletions}</span>}
    </span>
  )
}
