/** Home: the composer of a new session, what needs the user, what works, and what has finished since the last visit. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type RefObject, useEffect, useRef, useState } from "react"
import { latestRunsQuery } from "../api/LatestRuns.ts"
import { pendingCountQuery, usePending, useWaitingRuns } from "../api/PendingCount.ts"
import { pendingInputsQuery } from "../api/PendingInputs.ts"
import { targetsQuery } from "../api/ProjectsAndTargets.ts"
import type { StartWish } from "../start/Offer.ts"
import { useStartChoice } from "../start/useStartChoice.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { HomeComposer } from "./HomeComposer.tsx"
import { homeRows } from "./homeRows.ts"
import { useLastVisit } from "./LastVisit.ts"
import { NeedsDecision } from "./NeedsDecision.tsx"
import { WorkRows } from "./WorkRows.tsx"
import { homeMessages } from "./messages.ts"
import "./home.css"

/** The change feed has no hints about new projects, shares and linked workspaces: read them again while the user sets them up. */
const SETUP_INTERVAL_MS = 3_000
const MAX_SHOWN = 20

const Overview = ({ runs }: { readonly runs: ReadonlyArray<HubRun> }) => {
  const messages = useMessages(homeMessages)
  const { approvals, inputs } = usePending()
  const since = useLastVisit()
  const waiting = useWaitingRuns()
  const { finished, working } = homeRows(runs, { since, waiting })
  return (
    <>
      <NeedsDecision pending={approvals} inputs={inputs} runs={runs} />
      <WorkRows label={messages.working} runs={working.slice(0, MAX_SHOWN)} />
      <WorkRows label={messages.finished} runs={finished.slice(0, MAX_SHOWN)} />
      <p className="home-more">
        {waiting.size + working.length + finished.length === 0 && (
          <span className="quiet">{messages.quiet} </span>
        )}
        <Link to="/runs">{messages.allRuns}</Link>
      </p>
    </>
  )
}

interface Props {
  /** Choices of the URL. */
  readonly search: StartWish
  /** Whether the user came to write. */
  readonly isStart: boolean
}

/** Focus of a page that the user opened to write, after its heading had it. */
const useFieldFocus = (field: RefObject<HTMLTextAreaElement | null>, isWanted: boolean): void => {
  useEffect(() => {
    if (isWanted) field.current?.focus()
  }, [field, isWanted])
}

/** Another project loads its workspaces while the composer stays. */
const useOnceTrue = (condition: boolean): boolean => {
  const [wasTrue, setTrue] = useState(condition)
  if (condition && !wasTrue) setTrue(true)
  return wasTrue || condition
}

export const HomePage = ({ isStart, search }: Props) => {
  const messages = useMessages(homeMessages)
  const runs = useQuery(latestRunsQuery)
  const pending = useQuery(pendingCountQuery)
  const isNew = runs.data?.length === 0
  const choice = useStartChoice(search, isNew ? SETUP_INTERVAL_MS : false)
  const targets = useQuery({ ...targetsQuery(), refetchInterval: isNew ? SETUP_INTERVAL_MS : false })
  const field = useRef<HTMLTextAreaElement>(null)
  const inputs = useQuery(pendingInputsQuery)
  const isReady = useOnceTrue(!pending.isLoading && !inputs.isLoading && !runs.isLoading && !choice.isLoading)
  useFieldFocus(field, isStart && isReady)
  const title = isStart ? messages.startTitle : messages.title
  // Without a workspace nothing can be sent: what to do about it comes first.
  const setsUp = isNew && choice.place === undefined
  // What waits stands above the runs: all parts keep their place only when all are there.
  if (!isReady)
    return (
      <PageFrame title={title}>
        <Loading />
      </PageFrame>
    )
  return (
    <PageFrame title={title}>
      <div className={isNew ? "home home-new" : "home"}>
        {isNew && (
          <FirstSteps
            choice={choice}
            hasDevice={(targets.data?.items ?? []).length > 0}
            onWrite={() => field.current?.focus()}
          />
        )}
        <div className={setsUp ? "home-later" : ""}>
          <HomeComposer choice={choice} fieldRef={field} />
        </div>
        <RefusalNote error={runs.error ?? pending.error} />
        {!isNew && <Overview runs={runs.data ?? []} />}
      </div>
    </PageFrame>
  )
}
