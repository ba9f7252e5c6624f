/**
 * Pending approvals above the composer, one at a time, oldest first, and a menu item that allows all of one kind in a turn, after it has listed
 * them.
 *
 * Guarantees: a new approval takes no focus, and reacts to no key in its first 500 ms. After a decision here, the focus goes to the next
 * approval, or to the text field below. Another person's decision stays readable. High risk and long commands are never allowed together with
 * others.
 */
import { Dialog } from "@base-ui/react/dialog"
import { Menu } from "@base-ui/react/menu"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type RefObject, useEffect, useRef, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { isVisibleLine, visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useAction } from "../ui/Dialogs.tsx"
import { ApprovalOutcome } from "./ApprovalOutcome.tsx"
import { Countdown } from "./Countdown.tsx"
import { DecisionForm } from "./DecisionForm.tsx"
import { DecisionNote, useDecide } from "./Decision.tsx"
import { Requester, RequestView, TargetNote } from "./RequestView.tsx"
import { approvalMessages } from "./messages.ts"
import { isPageItself, useDecisionKeys } from "./DecisionKeys.ts"
import { useSeenWhole } from "./useSeenWhole.ts"
import "./approval.css"

/** Most characters of a command in the list. */
const MOST = 2_000

/** Approvals of the same turn and kind as the first, without those of high risk or a command that the list would cut, and the number of these. */
const ofSameKind = (approvals: ReadonlyArray<HubApproval>) => {
  const [first] = approvals
  const same = approvals.filter(
    ({ request, runId }) => runId === first?.runId && request.action === first.request.action
  )
  const allowable = same.filter(
    ({ request }) => request.risk !== "high" && isVisibleLine(request.command ?? "", MOST)
  )
  return { allowable, skipped: same.length - allowable.length }
}

/** State of the dialog. It belongs to the dock, because the menu closes before the dialog opens. */
const useAllowAll = (approvals: ReadonlyArray<HubApproval>, onDecided: (id: HubApproval["id"]) => void) => {
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const action = useAction()
  const allow = async (): Promise<void> => {
    try {
      for (const { id } of ofSameKind(approvals).allowable) {
        const payload = { decision: "allow", scope: "once" } as const
        onDecided(id)
        await hubApi.approvals.decide({ params: { id }, headers: keyOf({ id, ...payload }), payload })
      }
    } finally {
      await client.invalidateQueries({ queryKey: ["approvals"] })
    }
  }
  return { ...action, allow: () => action.run(allow) }
}

type AllowAllState = ReturnType<typeof useAllowAll>

const AllowAllItem = ({ count, state }: { readonly count: number; readonly state: AllowAllState }) => {
  const messages = useMessages(approvalMessages)
  return (
    <Menu.Item className="menu-item" onClick={() => state.setOpen(true)}>
      {messages.allowAll(count)}
    </Menu.Item>
  )
}

interface OfSameKindProps {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly state: AllowAllState
}

const AllowAllDialog = ({ approvals, state }: OfSameKindProps) => {
  const messages = useMessages(approvalMessages)
  const ui = useMessages(uiMessages)
  const { allowable, skipped } = ofSameKind(approvals)
  return (
    <Dialog.Root open={state.open} onOpenChange={state.setOpen}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{messages.allowAllTitle(allowable.length)}</Dialog.Title>
          <Dialog.Description>{messages.allowAllText}</Dialog.Description>
          <ul className="allow-all">
            {allowable.map(({ id, request }) => (
              <li key={id}>
                <span className={`risk risk-${request.risk}`}>{messages.risks[request.risk]}</span>{" "}
                <code>{visibleLine(request.command ?? request.title, MOST)}</code>
              </li>
            ))}
          </ul>
          {skipped > 0 && <p className="quiet">{messages.allowAllSkipped(skipped)}</p>}
          <RefusalNote error={state.error} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{ui.cancel}</Dialog.Close>
            <button
              type="button"
              className="button primary"
              disabled={state.busy}
              onClick={() => void state.allow()}
            >
              {messages.allowAllConfirm(allowable.length)}
            </button>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface DecidedNoteProps {
  readonly approval: HubApproval
  readonly onDismiss: () => void
}

/** Note that a shown approval was decided by someone else, or expired. */
const DecidedNote = ({ approval: { id, projectId, request }, onDismiss }: DecidedNoteProps) => {
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

interface ApprovalDockProps {
  readonly approvals: ReadonlyArray<HubApproval>
}

export const ApprovalDock = ({ approvals }: ApprovalDockProps) => {
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
