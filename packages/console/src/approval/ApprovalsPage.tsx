/**
 * Page of open questions and pending approvals, oldest first, with one approval open: its request, the session that it belongs to, and its
 * decision form or outcome. A decided approval stays open until the user selects another.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { type List, useList } from "../api/Lists.ts"
import { oldestFirst } from "../api/Pending.ts"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { useSessionTitle } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { WorkLink } from "../runs/RunRows.tsx"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { ListMore, Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { UnsentText, useKeptTexts } from "../ui/UnsentText.tsx"
import { ApprovalOutcome, DecidedRequest } from "./ApprovalOutcome.tsx"
import { Countdown } from "./Countdown.tsx"
import { DecisionForm } from "./DecisionForm.tsx"
import { DecisionNote, useDecide } from "./Decision.tsx"
import { Requester, RequestView, TargetNote } from "./RequestView.tsx"
import { approvalMessages } from "./messages.ts"
import { useDecisionKeys } from "./DecisionKeys.ts"
import { useSeenWhole } from "./useSeenWhole.ts"
import "./approval.css"

/** One approval: the request, the session that it belongs to, and its decision form or outcome. */
const ApprovalCard = ({ approval }: { readonly approval: HubApproval }) => {
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

interface PendingApprovalsProps {
  readonly list: List<HubApproval>
  /** Id of the open approval. */
  readonly open: string | undefined
}

const PendingApproval = ({
  approval,
  isOpen
}: {
  readonly approval: HubApproval
  readonly isOpen: boolean
}) => {
  const messages = useMessages(approvalMessages)
  const { id, request, requestedAt, runId, workspace } = approval
  const session = useSessionTitle(useLatestRuns().find((run) => run.id === runId)?.sessionId)
  return (
    <li>
      <Link
        to="/approvals/$approvalId"
        params={{ approvalId: id }}
        aria-current={isOpen ? "true" : undefined}
      >
        <bdi className="approvals-title">{visibleLine(request.title, 120)}</bdi>{" "}
        <bdi className="approvals-work">
          {[session === undefined ? undefined : visibleLine(session, 120), workspace]
            .filter((part) => part !== undefined)
            .join(" · ")}
        </bdi>{" "}
        <span className="approvals-facts">
          <span className={`risk risk-${request.risk}`}>{messages.risks[request.risk] ?? request.risk}</span>{" "}
          <Time at={requestedAt} />
        </span>
      </Link>
    </li>
  )
}

/** List of pending approvals: title, session, workspace, risk and time of each. */
const PendingApprovals = ({ list, open }: PendingApprovalsProps) => {
  const messages = useMessages(approvalMessages)
  return (
    <nav className="approvals-list" aria-label={messages.list}>
      <ul>
        {list.items.map((approval) => (
          <PendingApproval key={approval.id} approval={approval} isOpen={approval.id === open} />
        ))}
      </ul>
      <ListMore
        list={list}
        empty={
          <>
            <p>{messages.none}</p>
            <p className="quiet">{messages.noneHint}</p>
          </>
        }
      />
    </nav>
  )
}

/** Missing and forbidden approvals look the same, and an address may contain anything. */
const isUnknown = (error: Error | null): boolean =>
  error instanceof CorralError && ["permission_denied", "schema_validation_failed"].includes(error.code)

const usePendingApprovals = (): List<HubApproval> => {
  const list = useList<HubApproval>(["approvals", "pending"], ({ page, signal }) =>
    hubApi.approvals.list({ query: { ...page, state: "pending" }, signal })
  )
  return { ...list, items: oldestFirst(list.items) }
}

interface ApprovalsPageProps {
  readonly approvalId?: string
  /** What else waits, above the list. */
  readonly above?: ReactNode
}

export const ApprovalsPage = ({ above, approvalId }: ApprovalsPageProps) => {
  const messages = useMessages(approvalMessages)
  const { language } = useLanguage()
  const navigate = useNavigate()
  const card = useRef<HTMLDivElement>(null)
  const list = usePendingApprovals()
  const { keep, notes } = useKeptTexts()
  const { items } = list
  // The open approval stays open, so that the next one can't move under the pointer of a user who decides this one.
  const [lastOpen, setLastOpen] = useState<string>()
  const open = approvalId ?? lastOpen ?? items[0]?.id
  useEffect(() => setLastOpen(open), [open])
  const one = useQuery({
    queryKey: ["approvals", "one", open],
    // The Hub rejects text that is not an approval id.
    queryFn: ({ signal }) => hubApi.approvals.get({ params: { id: open as HubApproval["id"] }, signal }),
    enabled: open !== undefined,
    placeholderData: () => items.find(({ id }) => id === open)
  })
  // On a phone the card stands above the list: neither is drawn before both are there.
  const isLoading = list.isLoading || one.isLoading
  const mayDecide = useCanDecide(one.data?.projectId)
  const select = (by: 1 | -1): true => {
    const here = items.findIndex(({ id }) => id === open)
    const next = items[here === -1 ? 0 : here + by]
    if (next !== undefined) void navigate({ to: "/approvals/$approvalId", params: { approvalId: next.id } })
    return true
  }
  useDecisionKeys(card, {
    isFree: () => true,
    onKey: (key) => (key === "j" && select(1)) || (key === "k" && select(-1))
  })
  return (
    <PageFrame title={messages.title}>
      {above}
      <div className="approvals">
        {isLoading ? <Loading /> : <PendingApprovals list={list} open={open} />}
        <div ref={card} className="approvals-open">
          {notes}
          {/* On a phone the card stands above the list, so that it is in sight however many wait. */}
          {!isLoading && one.data !== undefined && (
            <UnsentText value={keep}>
              <ApprovalCard key={one.data.id} approval={one.data} />
            </UnsentText>
          )}
          {isUnknown(one.error) ? (
            <p className="empty">
              {messages.notFound} <Link to="/approvals">{messages.back}</Link>
            </p>
          ) : (
            <RefusalNote error={one.error} />
          )}
          {!isLoading && one.data !== undefined && (
            <p className="quiet approvals-keys">
              {messages.selectKeys}
              {mayDecide && one.data.state === "pending" && sentenceSpace[language] + messages.decisionKeys}
            </p>
          )}
        </div>
      </div>
    </PageFrame>
  )
}
