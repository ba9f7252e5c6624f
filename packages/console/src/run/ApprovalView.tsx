/** An approval where it was asked for, in the timeline: open while it waits, folded once it is decided. */
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import { Countdown } from "../approval/Countdown.tsx"
import { DecidedRequest } from "../approval/DecidedRequest.tsx"
import { DecisionForm } from "../approval/DecisionForm.tsx"
import { DecisionNote } from "../approval/DecisionNote.tsx"
import { ApprovalOutcome } from "../approval/Outcome.tsx"
import { RequestView } from "../approval/RequestView.tsx"
import { useDecide } from "../approval/useDecide.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import type { ApprovalBlock } from "./Block.ts"
import { runMessages } from "./messages.ts"

interface Props {
  readonly block: ApprovalBlock
  readonly projectId: HubRun["projectId"] | undefined
  readonly isOver: boolean
}

export const ApprovalView = ({ block, isOver, projectId }: Props) => {
  const words = useMessages(runMessages)
  const { approvalId, expiresAt, request, resolution, state } = block
  // The event has checked it: ids of approvals are what the Hub calls them by.
  const decide = useDecide(approvalId as HubApproval["id"])
  const title = visibleLine(request.title)
  if (state === "pending" && !isOver)
    return (
      <section className="approval approval-pending" aria-label={`${words.approval}: ${title}`}>
        <h2>
          {title} <Countdown until={expiresAt} />
        </h2>
        <RequestView request={request} />
        <DecisionForm {...{ decide, expiresAt, projectId, request }} />
        <DecisionNote error={decide.error} />
      </section>
    )
  return (
    <details className="approval">
      <summary>
        {words.approval}: {title}
        {resolution !== undefined && (
          <>
            {" · "}
            <ApprovalOutcome {...{ projectId, resolution }} />
          </>
        )}
      </summary>
      <DecisionNote error={decide.error} />
      <p>
        <Link to="/approvals/$approvalId" params={{ approvalId }}>
          {words.toApproval}
        </Link>
      </p>
      <DecidedRequest request={request} allowedInput={resolution?.allowedInput} />
    </details>
  )
}
