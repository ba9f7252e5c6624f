/**
 * Home: the composer of a new session, what needs the user, what works, and what has finished since the last visit. Users without runs see first
 * steps.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link, Navigate } from "@tanstack/react-router"
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react"
import { latestRunsQuery } from "../api/RunsAndGroups.ts"
import {
  openChangesQuery,
  pendingCountQuery,
  pendingInputsQuery,
  usePending,
  useWaitingRuns
} from "../api/Pending.ts"
import {
  targetsQuery,
  useAgentName,
  useOfflineTargets,
  useProjectName,
  useRights,
  useTargetName,
  useTargets
} from "../api/ProjectsAndTargets.ts"
import { ChangeCounts, RunTime, useRunTail } from "../board/RunTail.tsx"
import { CompareLink, GroupProgress } from "../group/GroupProgress.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useWorkTitle, WorkLink } from "../runs/RunRows.tsx"
import { type StartChoice, type StartWish, useStartChoice } from "../start/Offer.ts"
import { runStatus, StatusMark } from "../status/SessionStatus.tsx"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { useOfflineText } from "../thread/DeviceBanner.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { HomeComposer } from "./HomeComposer.tsx"
import { useLastVisit } from "./LastVisit.ts"
import { homeMessages } from "./messages.ts"
import { NeedsDecision } from "./NeedsDecision.tsx"
import "./home.css"

type Run = Pick<HubRun, "createdAt" | "endedAt" | "id" | "sessionId">

/** Rows of the home page: each session once, as the newest of its runs that is to be shown. Pure. */
export interface HomeRows<A> {
  /** Sessions in progress that wait for no answer of the user. */
  readonly working: ReadonlyArray<A>
  /** Sessions without a run in progress, the last one to end first. */
  readonly finished: ReadonlyArray<A>
}

/** A run without a session stands for itself. */
const workOf = ({ id, sessionId }: Run): string => sessionId ?? id

const newest = <A extends Run>(runs: ReadonlyArray<A>): ReadonlyArray<A> => {
  const rows = new Map<string, A>()
  for (const run of runs) {
    const row = rows.get(workOf(run))
    if (row === undefined || row.createdAt < run.createdAt) rows.set(workOf(run), run)
  }
  return [...rows.values()]
}

/** `waiting`: runs with an own row for what they wait for. `since`: when the user was here last, in milliseconds. */
export const homeRows = <A extends Run>(
  runs: ReadonlyArray<A>,
  { since, waiting }: { readonly since: number; readonly waiting: ReadonlySet<RunId> }
): HomeRows<A> => {
  const waits = new Set(runs.filter(({ id }) => waiting.has(id)).map(workOf))
  const live = runs.filter(({ endedAt }) => endedAt === undefined)
  const busy = new Set([...live.map(workOf), ...waits])
  return {
    working: newest(live.filter((run) => !waits.has(workOf(run)))),
    finished: newest(
      runs.filter(
        (run) => run.endedAt !== undefined && Date.parse(run.endedAt) > since && !busy.has(workOf(run))
      )
    ).toSorted((a, b) => ((a.endedAt ?? "") < (b.endedAt ?? "") ? 1 : -1))
  }
}

/** What the link or button of a step shows. Only the next step has one: a new user has one thing to do. */
interface StepFace {
  readonly className: string
  readonly "aria-label": string
  readonly children: string
}

interface Step {
  readonly name: "project" | "device" | "workspace" | "run"
  readonly done: boolean
  readonly way: (face: StepFace) => ReactNode
}

interface FirstStepsProps {
  readonly choice: StartChoice
  /** Whether the user has a device. */
  readonly hasDevice: boolean
  readonly onWrite: () => void
}

/** First steps for a user without runs. Each completes itself as the data changes, wherever it was done. */
const FirstSteps = ({ choice: { places, project }, hasDevice, onWrite }: FirstStepsProps) => {
  const messages = useMessages(homeMessages)
  const { comma } = usePunctuation()
  const steps: ReadonlyArray<Step> = [
    { name: "project", done: project !== undefined, way: (face) => <Link to="/projects" {...face} /> },
    { name: "device", done: hasDevice, way: (face) => <Link to="/devices" {...face} /> },
    {
      name: "workspace",
      done: places.length > 0,
      way: (face) =>
        project !== undefined && (
          <Link
            to="/projects/$projectId"
            params={{ projectId: project.id }}
            search={{ tab: "workspaces" }}
            {...face}
          />
        )
    },
    // The page hides the steps after the first run.
    {
      name: "run",
      done: false,
      way: (face) => <button type="button" {...face} className="button" onClick={onWrite} />
    }
  ]
  const next = steps.find(({ done }) => !done)
  return (
    <section className="first" aria-label={messages.begin}>
      <h2>{messages.begin}</h2>
      <p className="quiet">{messages.beginHint}</p>
      <ol className="first-steps">
        {steps.map(({ done, name, way }, index) => {
          const [title = "", hint, action = ""] = messages.steps[name]
          return (
            <li
              key={name}
              className={done ? "first-step first-step-done" : "first-step"}
              aria-current={next?.name === name ? "step" : undefined}
            >
              <span className="first-step-mark" aria-hidden="true">
                {done ? <Icon name="check" size={14} /> : index + 1}
              </span>
              <span className="first-step-text">
                <strong>{title}</strong>
                {done && (
                  <span className="hidden">
                    {comma}
                    {messages.done}
                  </span>
                )}
                <br />
                <span className="quiet">{hint}</span>
              </span>
              {next?.name === name &&
                way({ className: "button primary", "aria-label": title, children: action })}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

/** Rows with a pending approval are in their own list. */
const noneWaits: ReadonlySet<HubRun["id"]> = new Set()

const WorkRow = ({ run }: { readonly run: HubRun }) => {
  const title = useWorkTitle(run)
  const textOf = useErrorSentence()
  const project = useProjectName(run.projectId)
  const agent = useAgentName(run.targetId, run.agentId)
  const target = useTargetName(run.targetId)
  const offline = useOfflineTargets()
  const { changes, line: latest } = useRunTail(run)
  const status = runStatus(run, { offline, rights: useRights(), waiting: noneWaits })
  const isSilent = status === "offline"
  const line = status === "background" ? run.outstanding?.titles.join(", ") : latest
  const offlineText = useOfflineText(useTargets().find(({ id }) => id === run.targetId))
  const place = [project, agent, target].filter((part) => part !== undefined).join(" · ")
  return (
    <li className="row">
      <div className="row-main">
        <WorkLink runId={run.id} sessionId={run.sessionId} className="row-title">
          <bdi>{title}</bdi>
        </WorkLink>
        <span className="quiet home-detail">
          {run.groupId === undefined ? (
            <bdi>
              {isSilent
                ? offlineText
                : visibleLine(run.error === undefined ? (line ?? place) : textOf(run.error))}
            </bdi>
          ) : (
            <GroupProgress groupId={run.groupId} />
          )}
        </span>
      </div>
      <div className="row-side home-side">
        <span>
          {run.groupId === undefined ? (
            <ChangeCounts changes={changes} run={run} />
          ) : (
            <CompareLink groupId={run.groupId} />
          )}
        </span>
        <StatusMark status={status} />
        <span className="home-time">
          {/* How long a device works that can't be heard is not known. A paused run's time stands still. */}
          {!isSilent && status !== "paused" && <RunTime run={run} />}
        </span>
      </div>
    </li>
  )
}

interface WorkRowsProps {
  readonly label: string
  readonly runs: ReadonlyArray<HubRun>
}

/** Runs as rows that lead to their session: title, latest line or device, changes, state and time. */
const WorkRows = ({ label, runs }: WorkRowsProps) =>
  runs.length === 0 ? null : (
    <section aria-label={label}>
      <h2>
        {label} <span className="home-count">{runs.length}</span>
      </h2>
      <ul className="rows" aria-label={label}>
        {runs.map((run) => (
          <WorkRow key={run.id} run={run} />
        ))}
      </ul>
    </section>
  )

/** The change feed has no hints about new projects, shares and linked workspaces: read them again while the user sets them up. */
const SETUP_INTERVAL_MS = 3_000
const MAX_SHOWN = 20

const Overview = ({ runs }: { readonly runs: ReadonlyArray<HubRun> }) => {
  const messages = useMessages(homeMessages)
  const { approvals, changes, inputs } = usePending()
  const since = useLastVisit()
  const waiting = useWaitingRuns()
  const withRow = new Set([...waiting, ...changes.map(({ runId }) => runId)])
  const { finished, working } = homeRows(runs, { since, waiting: withRow })
  return (
    <>
      <NeedsDecision pending={approvals} inputs={inputs} changes={changes} runs={runs} />
      <WorkRows label={messages.working} runs={working.slice(0, MAX_SHOWN)} />
      <WorkRows label={messages.finished} runs={finished.slice(0, MAX_SHOWN)} />
      <p className="home-more">
        {waiting.size + changes.length + working.length + finished.length === 0 && (
          <span className="quiet">{messages.quiet} </span>
        )}
        <Link to="/runs">{messages.allRuns}</Link>
      </p>
    </>
  )
}

interface HomePageProps {
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

export const HomePage = ({ isStart, search }: HomePageProps) => {
  const messages = useMessages(homeMessages)
  const runs = useQuery(latestRunsQuery)
  const pending = useQuery(pendingCountQuery)
  const isNew = runs.data?.length === 0
  const choice = useStartChoice(search, isNew ? SETUP_INTERVAL_MS : false)
  const targets = useQuery({ ...targetsQuery(), refetchInterval: isNew ? SETUP_INTERVAL_MS : false })
  const field = useRef<HTMLTextAreaElement>(null)
  const inputs = useQuery(pendingInputsQuery)
  const changes = useQuery(openChangesQuery)
  const isReady = useOnceTrue([pending, inputs, changes, runs, choice].every(({ isLoading }) => !isLoading))
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

/** Initial choice from the URL. */
export interface StartSearch extends StartWish {
  readonly sessionId?: string
}

/** `/start`: the home page's composer with the choices of the URL. With a session, its thread, where the next message is written. */
export const StartPage = ({ search: { sessionId, ...wish } }: { readonly search: StartSearch }) =>
  sessionId === undefined ? (
    <HomePage search={wish} isStart />
  ) : (
    // Text from the URL is user input: the Hub validates it.
    <Navigate to="/sessions/$sessionId" params={{ sessionId: sessionId as SessionId }} replace />
  )
