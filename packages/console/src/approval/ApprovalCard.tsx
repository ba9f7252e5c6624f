/** One approval: the request, the session that it belongs to, and its decision form or outcome. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { useSessionTitle } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { WorkLink } from "../runs/WorkLink.tsx"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { Countdown } from "./Countdown.tsx"
import { DecidedRequest } from "./DecidedRequest.tsx"
import { DecisionForm } from "./DecisionForm.tsx"
import { DecisionNote } from "./DecisionNote.tsx"
import { ApprovalOutcome } from "./ApprovalOutcome.tsx"
import { Requester } from "./Requester.tsx"
import { RequestView } from "./RequestView.tsx"
import { TargetNote } from "./TargetNote.tsx"
import { useDecide } from "./useDecide.ts"
import { useSeenWhole } from "./useSeenWhole.ts"
import { approvalMessages } from "./messages.ts"

export const ApprovalCard = ({ approval }: { readonly approval: HubApproval }) => {
  const messages = useMessages(approvalMessages)
  const decide = useDecide(approval.id)
  const seen = useSeenWhole()
  const { id, projectId, request, runId, state } = approval
  const sessionId = useLatestRuns().find((run) => run.id === runId)?.sessionId
  const session = useSessionTitle(sessionId)
  return (
    <article className={`approval approval-${state}`} aria-labelledby={`title-${id}`}>
      <h2 id={`title-${id}`}>
        {state === "pending" && <span aria-hidden="true">◆ </span>}
        <bdi>
          {request.command === undefined ? visibleLine(request.title) : messages.kinds[request.action]}
        </bdi>
        {state === "pending" && (
          <span className="dock-meta">
            <Countdown until={approval.expiresAt} />
          </span>
        )}
      </h2>
      <Requester approval={approval} />
      <p className="quiet approval-facts">
        <Time at={approval.requestedAt} /> ·{" "}
        <WorkLink {...{ runId, sessionId }} className="">
          <bdi>{session === undefined ? messages.toRun : visibleLine(session, 120)}</bdi>
        </WorkLink>
      </p>
      {state === "pending" ? (
        <>
          <RequestView ref={seen.ref} request={request} />
          <TargetNote approval={approval} />
          <DecisionForm {...{ decide, projectId, request, seen }} expiresAt={approval.expiresAt} />
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
