/** Page of open questions and pending approvals, oldest first, with one approval open. A decided approval stays open until the user selects another. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { CorralError } from "@corral/client/http/CorralError"
import { hubApi } from "../api/Hub.ts"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { type List, useList } from "../api/Lists.ts"
import { oldestFirst } from "../api/OldestFirst.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { UnsentText } from "../ui/UnsentText.ts"
import { useKeptTexts } from "../ui/useKeptTexts.tsx"
import { ApprovalCard } from "./ApprovalCard.tsx"
import { PendingApprovals } from "./PendingApprovals.tsx"
import { approvalMessages } from "./messages.ts"
import { useDecisionKeys } from "./useDecisionKeys.ts"
import "./approval.css"

/** Missing and forbidden approvals look the same, and an address may contain anything. */
const isUnknown = (error: Error | null): boolean =>
  error instanceof CorralError && ["permission_denied", "schema_validation_failed"].includes(error.code)

const usePendingApprovals = (): List<HubApproval> => {
  const list = useList<HubApproval>(["approvals", "pending"], ({ page, signal }) =>
    hubApi.approvals.list({ query: { ...page, state: "pending" }, signal })
  )
  return { ...list, items: oldestFirst(list.items) }
}

interface Props {
  readonly approvalId?: string
  /** What else waits, above the list. */
  readonly above?: ReactNode
}

export const ApprovalsPage = ({ above, approvalId }: Props) => {
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
