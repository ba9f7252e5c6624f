/** Note that a shown approval was decided by someone else, or expired. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ApprovalOutcome } from "./ApprovalOutcome.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly approval: HubApproval
  readonly onDismiss: () => void
}

export const DecidedNote = ({ approval: { id, projectId, request }, onDismiss }: Props) => {
  const messages = useMessages(approvalMessages)
  const { data } = useQuery({
    queryKey: ["approvals", "one", id],
    queryFn: ({ signal }) => hubApi.approvals.get({ params: { id }, signal })
  })
  const { user } = useCurrentUser()
  // The user knows an own decision, and the run shows why a request was withdrawn.
  const isShown =
    data !== undefined && data.state !== "pending" && data.state !== "cancelled" && data.decidedBy !== user.id
  return (
    <div className={isShown ? "decided-note" : "hidden"} role="status">
      {isShown && (
        <>
          <span>
            {messages.decidedNote(visibleLine(request.title, 80))}{" "}
            <ApprovalOutcome resolution={data} projectId={projectId} />
          </span>
          <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  )
}
