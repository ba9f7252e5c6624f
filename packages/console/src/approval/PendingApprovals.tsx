/** List of pending approvals: title, session, workspace, risk and time of each. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import { useLatestRuns } from "../api/LatestRuns.ts"
import type { List } from "../api/Lists.ts"
import { useSessionTitle } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface Props {
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

export const PendingApprovals = ({ list, open }: Props) => {
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
