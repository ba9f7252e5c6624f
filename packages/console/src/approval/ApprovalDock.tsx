/**
 * Pending approvals above the composer, one at a time, oldest first.
 *
 * Guarantees: a new approval takes no focus, and reacts to no key in its first 500 ms. After a decision here, the focus goes to the next approval,
 * or to the text field below. Another person's decision stays readable.
 */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { type RefObject, useEffect, useRef, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { AllowAllDialog, AllowAllItem, ofSameKind, useAllowAll } from "./AllowAll.tsx"
import { Countdown } from "./Countdown.tsx"
import { DecidedNote } from "./DecidedNote.tsx"
import { DecisionForm } from "./DecisionForm.tsx"
import { DecisionNote } from "./DecisionNote.tsx"
import { RequestView } from "./RequestView.tsx"
import { TargetNote } from "./TargetNote.tsx"
import { Requester } from "./Requester.tsx"
import { isPageItself, useDecisionKeys } from "./useDecisionKeys.ts"
import { useSeenWhole } from "./useSeenWhole.ts"
import { approvalMessages } from "./messages.ts"
import { useDecide } from "./useDecide.ts"
import "./approval.css"

/** Time in which a new approval reacts to no key. */
const DEAF_MS = 500

interface CardProps {
  /** The approval and those that wait behind it. */
  readonly approvals: ReadonlyArray<HubApproval>
  readonly approval: HubApproval
  readonly card: RefObject<HTMLElement | null>
  readonly onDecided: (id: HubApproval["id"]) => void
}

const DockCard = ({ approval, approvals, card, onDecided }: CardProps) => {
  const messages = useMessages(approvalMessages)
  const { expiresAt, id, projectId, request } = approval
  const decide = useDecide(id, { onSend: () => onDecided(id) })
  const all = useAllowAll(approvals, onDecided)
  const deafUntil = useRef(performance.now() + DEAF_MS)
  const seen = useSeenWhole()
  const { allowable } = ofSameKind(approvals)
  const title = visibleLine(request.title)
  // Elsewhere a key belongs to what has the focus, such as the review.
  useDecisionKeys(card, { deafUntil, isFree: isPageItself })
  return (
    <section
      ref={card}
      className="approval approval-pending dock-approval"
      tabIndex={-1}
      aria-label={`${messages.approval}: ${title}`}
      // Keys after a click are meant for the card.
      onPointerDownCapture={() => (deafUntil.current = 0)}
    >
      <h2>
        <span aria-hidden="true">◆ </span>
        <bdi>{request.command === undefined ? title : messages.kinds[request.action]}</bdi>
        <span className="dock-meta">
          {approvals.length > 1 && <span>{messages.position(1, approvals.length)}</span>}
          <Countdown until={expiresAt} />
        </span>
      </h2>
      <Requester approval={approval} />
      <div className="dock-request" tabIndex={0} role="group" aria-label={title}>
        <RequestView ref={seen.ref} request={request} />
      </div>
      <TargetNote approval={approval} />
      <DecisionForm
        {...{ decide, expiresAt, projectId, request, seen }}
        more={allowable.length > 1 ? <AllowAllItem count={allowable.length} state={all} /> : undefined}
      />
      <AllowAllDialog approvals={approvals} state={all} />
      <DecisionNote error={decide.error} />
    </section>
  )
}

interface Props {
  readonly approvals: ReadonlyArray<HubApproval>
}

export const ApprovalDock = ({ approvals }: Props) => {
  const dock = useRef<HTMLDivElement>(null)
  const card = useRef<HTMLElement>(null)
  const decidedHere = useRef(new Set<HubApproval["id"]>())
  const before = useRef<HubApproval>(undefined)
  const [left, setLeft] = useState<HubApproval>()
  const [current] = approvals
  useEffect(() => {
    const previous = before.current
    before.current = current
    if (previous === undefined || previous.id === current?.id) return
    setLeft(previous)
    if (!decidedHere.current.has(previous.id)) return
    // The button that was pressed has left with its card.
    const next = current === undefined ? dock.current?.parentElement?.querySelector("textarea") : card.current
    next?.focus()
  }, [current])
  return (
    <div ref={dock} className="approval-dock">
      {left !== undefined && (
        <DecidedNote key={left.id} approval={left} onDismiss={() => setLeft(undefined)} />
      )}
      {current !== undefined && (
        <DockCard
          key={current.id}
          approval={current}
          onDecided={(id) => decidedHere.current.add(id)}
          {...{ approvals, card }}
        />
      )}
    </div>
  )
}
