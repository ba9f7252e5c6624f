/** One approval: the request, and its decision form or outcome. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { Time } from "../ui/Time.tsx"
import { Countdown } from "./Countdown.tsx"
import { DecidedRequest } from "./DecidedRequest.tsx"
import { DecisionForm } from "./DecisionForm.tsx"
import { DecisionNote } from "./DecisionNote.tsx"
import { ApprovalOutcome } from "./ApprovalOutcome.tsx"
import { RequestView } from "./RequestView.tsx"
import { TargetNote } from "./TargetNote.tsx"
import { useDecide } from "./useDecide.ts"
import { approvalMessages } from "./messages.ts"

export const ApprovalCard = ({ approval }: { readonly approval: HubApproval }) => {
  const messages = useMessages(approvalMessages)
  const decide = useDecide(approval.id)
  const { agentId, id, projectId, request, runId, state } = approval
  return (
    <article className={`approval approval-${state}`} aria-labelledby={`title-${id}`}>
      <h2 id={`title-${id}`}>
        {request.command === undefined ? visibleLine(request.title) : messages.kinds[request.action]}
      </h2>
      <p className="quiet">
        {agentId} · {approval.workspace} · <Time at={approval.requestedAt} /> ·{" "}
        <Link to="/runs/$runId" params={{ runId }}>
          {messages.toRun}
        </Link>{" "}
        <ShortId id={id} />
        {state === "pending" && (
          <>
            {" · "}
            <Countdown until={approval.expiresAt} />
          </>
        )}
      </p>
      {state === "pending" ? (
        <>
          <RequestView request={request} />
          <TargetNote approval={approval} />
          <DecisionForm {...{ decide, projectId, request }} expiresAt={approval.expiresAt} />
        </>
      ) : (
        <>
          <p>
            <ApprovalOutcome resolution={approval} projectId={projectId} />
          </p>
          <DecidedRequest request={request} allowedInput={approval.allowedInput} />
        </>
      )}
      <DecisionNote error={decide.error} />
    </article>
  )
}
