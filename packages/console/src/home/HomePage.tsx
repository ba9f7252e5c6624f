/** What is going on: what waits for a person, what is at work, what ended lately; to begin with, what to do first. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { waitingQuery } from "../api/Waiting.ts"
import { RunRows } from "../runs/RunRows.tsx"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { PageFrame } from "../ui/Page.tsx"
import { Time } from "../ui/Time.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { homeMessages } from "./messages.ts"

const SHOWN = 5
const over: ReadonlyArray<string> = ["completed", "failed", "cancelled"]

const Waiting = () => {
  const messages = useMessages(homeMessages)
  const waiting = useQuery(waitingQuery).data?.items ?? []
  if (waiting.length === 0) return null
  return (
    <>
      <h2>{messages.waiting}</h2>
      <ul className="rows" aria-label={messages.waiting}>
        {waiting.slice(0, SHOWN).map(({ agentId, id, request, requestedAt, workspace }) => (
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
  const working = runs.items.filter(({ state }) => !over.includes(state))
  const ended = runs.items.filter(({ state }) => over.includes(state))
  return (
    <PageFrame title={messages.title}>
      <Waiting />
      {runs.items.length === 0 && !runs.isLoading && runs.error === null ? (
        <FirstSteps />
      ) : (
        <>
          <h2>{messages.running}</h2>
          <RunRows runs={working} label={messages.running} />
          {working.length === 0 && <p className="quiet">{messages.nothing}</p>}
          {ended.length > 0 && <h2>{messages.recent}</h2>}
          <RunRows runs={ended} label={messages.recent} />
          <ListMore list={runs} empty={null} />
        </>
      )}
    </PageFrame>
  )
}
