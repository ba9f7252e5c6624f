/** Approval in the timeline: expanded while it is pending, collapsed once it is decided. */
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import { Countdown } from "../approval/Countdown.tsx"
import { DecidedRequest } from "../approval/DecidedRequest.tsx"
import { DecisionForm } from "../approval/DecisionForm.tsx"
import { DecisionNote } from "../approval/DecisionNote.tsx"
import { ApprovalOutcome } from "../approval/ApprovalOutcome.tsx"
import { RequestView } from "../approval/RequestView.tsx"
import { useDecide } from "../approval/useDecide.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import type { ApprovalBlock } from "@corral/domain/run/RunBlock"
import { runMessages } from "./messages.ts"

interface Props {
  readonly block: ApprovalBlock
  readonly projectId: HubRun["projectId"] | undefined
  readonly isOver: boolean
}

export const ApprovalView = ({ block, isOver, projectId }: Props) => {
  const messages = useMessages(runMessages)
  const { approvalId, expiresAt, request, resolution, state } = block
  // The event was validated, and the Hub uses the same approval ids.
  const decide = useDecide(approvalId as HubApproval["id"])
  const title = visibleLine(request.title)
  if (state === "pending" && !isOver)
    return (
      <section className="approval approval-pending" aria-label={`${messages.approval}: ${title}`}>
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
        {messages.approval}: {title}
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
          {messages.toApproval}
        </Link>
      </p>
      <DecidedRequest request={request} allowedInput={resolution?.allowedInput} />
    </details>
  )
}
