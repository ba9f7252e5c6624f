/** List of pending approvals: risk, title, workspace and time of each. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import type { List } from "../api/Lists.ts"
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

export const PendingApprovals = ({ list, open }: Props) => {
  const messages = useMessages(approvalMessages)
  return (
    <nav className="approvals-list" aria-label={messages.list}>
      <ul>
        {list.items.map(({ id, request, requestedAt, workspace }) => (
          <li key={id}>
            <Link
              to="/approvals/$approvalId"
              params={{ approvalId: id }}
              aria-current={id === open ? "true" : undefined}
            >
              <bdi className="approvals-title">{visibleLine(request.title, 120)}</bdi>{" "}
              <span className={`risk risk-${request.risk}`}>
                {messages.risks[request.risk] ?? request.risk}
              </span>{" "}
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
  )
}
