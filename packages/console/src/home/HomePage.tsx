/** What is going on: what waits for a person, what is at work, what ended lately; to begin with, what to do first. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { waitingQuery } from "../api/Waiting.ts"
import { RunRows } from "../runs/RunRows.tsx"
import { useWords } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Page } from "../ui/Page.tsx"
import { Time } from "../ui/Time.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { homeWords } from "./messages.ts"

const SHOWN = 5
const over: ReadonlyArray<string> = ["completed", "failed", "cancelled"]

const Waiting = () => {
  const words = useWords(homeWords)
  const waiting = useQuery(waitingQuery).data?.items ?? []
  if (waiting.length === 0) return null
  return (
    <>
      <h2>{words.waiting}</h2>
      <ul className="rows" aria-label={words.waiting}>
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
  const words = useWords(homeWords)
  const runs = useList(["runs", "list", {}], ({ page, signal }) => hub.runs.list({ query: page, signal }))
  const working = runs.items.filter(({ state }) => !over.includes(state))
  const ended = runs.items.filter(({ state }) => over.includes(state))
  return (
    <Page title={words.title}>
      <Waiting />
      {runs.items.length === 0 && !runs.isLoading && runs.error === null ? (
        <FirstSteps />
      ) : (
        <>
          <h2>{words.running}</h2>
          <RunRows runs={working} label={words.running} />
          {working.length === 0 && <p className="quiet">{words.nothing}</p>}
          {ended.length > 0 && <h2>{words.recent}</h2>}
          <RunRows runs={ended} label={words.recent} />
          <ListMore list={runs} empty={null} />
        </>
      )}
    </Page>
  )
}
