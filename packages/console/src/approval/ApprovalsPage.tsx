/** All that waits for a decision, the oldest first, one of it open. What is decided meanwhile stays open until somebody goes on. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { hubApi, HubRefusal } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { PageFrame } from "../ui/Page.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { ApprovalCard } from "./ApprovalCard.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

const typing = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest("input, textarea, select, [contenteditable], dialog, [role=dialog], [role=alertdialog]") !==
    null

/** Nobody learns whether there is one that they may not see, and an address may hold anything. */
const isUnknown = (error: Error | null): boolean =>
  error instanceof HubRefusal && ["permission_denied", "schema_validation_failed"].includes(error.code)

export const ApprovalsPage = ({ approvalId }: { readonly approvalId?: string }) => {
  const messages = useMessages(approvalMessages)
  const navigate = useNavigate()
  const card = useRef<HTMLDivElement>(null)
  const list = useList<HubApproval>(["approvals", "pending"], ({ page, signal }) =>
    hubApi.approvals.list({
      query: { ...page, state: "pending" },
      signal
    })
  )
  const items = list.items.toSorted((a, b) => (a.requestedAt < b.requestedAt ? -1 : 1))
  // What is open stays open: the next one must not slide under a finger that meant this one.
  const [stays, setStays] = useState<string>()
  const open = approvalId ?? stays ?? items[0]?.id
  useEffect(() => setStays(open), [open])
  const listed = items.find(({ id }) => id === open)
  const one = useQuery({
    queryKey: ["approvals", "one", open],
    // The Hub says of anything else that it is no id.
    queryFn: ({ signal }) => hubApi.approvals.get({ params: { id: open as HubApproval["id"] }, signal }),
    enabled: open !== undefined,
    placeholderData: () => listed
  })
  const shown = one.data

  const go = (by: 1 | -1) => {
    const here = items.findIndex(({ id }) => id === open)
    const next = items[here === -1 ? 0 : here + by]
    if (next !== undefined) void navigate({ to: "/approvals/$approvalId", params: { approvalId: next.id } })
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target)) return
      const { key } = event
      if (key === "j") go(1)
      else if (key === "k") go(-1)
      else if (key === "a" || key === "d")
        card.current?.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus()
      else return
      event.preventDefault()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  })

  return (
    <PageFrame title={messages.title}>
      <div className="approvals">
        <nav className="approvals-list" aria-label={messages.list}>
          <ul>
            {items.map(({ id, request, requestedAt, workspace }) => (
              <li key={id}>
                <Link
                  to="/approvals/$approvalId"
                  params={{ approvalId: id }}
                  aria-current={id === open ? "true" : undefined}
                >
                  <span className={`risk risk-${request.risk}`}>
                    {messages.risks[request.risk] ?? request.risk}
                  </span>{" "}
                  {visibleLine(request.title, 120)}
                  <span className="quiet">
                    {workspace} · <Time at={requestedAt} />
                  </span>
                </Link>
              </li>
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
        <div ref={card}>
          {shown !== undefined && <ApprovalCard key={shown.id} approval={shown} />}
          {isUnknown(one.error) ? (
            <p className="empty">
              {messages.notFound} <Link to="/approvals">{messages.back}</Link>
            </p>
          ) : (
            <RefusalNote error={one.error} />
          )}
          {shown !== undefined && <p className="quiet keys">{messages.hint}</p>}
        </div>
      </div>
    </PageFrame>
  )
}
