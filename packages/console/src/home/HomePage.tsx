/** Overview: pending approvals, active runs and recent runs, or first steps for a new user. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { pendingCountQuery } from "../api/PendingCount.ts"
import { RunRows } from "../runs/RunRows.tsx"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { Time } from "../ui/Time.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { homeMessages } from "./messages.ts"

const MAX_SHOWN = 5
const terminalStates: ReadonlyArray<string> = ["completed", "failed", "cancelled"]

const Waiting = ({ waiting }: { readonly waiting: ReadonlyArray<HubApproval> }) => {
  const messages = useMessages(homeMessages)
  if (waiting.length === 0) return null
  return (
    <>
      <h2>{messages.waiting}</h2>
      <ul className="rows" aria-label={messages.waiting}>
        {waiting.slice(0, MAX_SHOWN).map(({ agentId, id, request, requestedAt, workspace }) => (
          <li key={id} className="row">
            <div className="row-main">
              <Link to="/approvals/$approvalId" params={{ approvalId: id }} className="row-title">
                <bdi>{request.title}</bdi>
              </Link>
              <span className="quiet">
                {agentId} · {workspace}
              </span>
            </div>
            <Time at={requestedAt} />
          </li>
        ))}
      </ul>
    </>
  )
}

export const HomePage = () => {
  const messages = useMessages(homeMessages)
  const runs = useList(["runs", "list", {}], ({ page, signal }) => hubApi.runs.list({ query: page, signal }))
  const pending = useQuery(pendingCountQuery)
  // What waits stands above the runs: the runs keep their place only when both are there.
  if (pending.isLoading || runs.isLoading)
    return (
      <PageFrame title={messages.title}>
        <Loading />
      </PageFrame>
    )
  const active = runs.items.filter(({ state }) => !terminalStates.includes(state))
  const ended = runs.items.filter(({ state }) => terminalStates.includes(state))
  return (
    <PageFrame title={messages.title}>
      <Waiting waiting={pending.data?.items ?? []} />
      {runs.items.length === 0 && runs.error === null ? (
        <FirstSteps />
      ) : (
        <>
          <h2>{messages.running}</h2>
          <RunRows runs={active} label={messages.running} />
          {active.length === 0 && <p className="quiet">{messages.nothing}</p>}
          {ended.length > 0 && <h2>{messages.recent}</h2>}
          <RunRows runs={ended} label={messages.recent} />
          <ListMore list={runs} empty={null} />
        </>
      )}
    </PageFrame>
  )
}
