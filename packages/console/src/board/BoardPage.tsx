/**
 * Board of parallel runs: a column for each state, below each other where the page is narrow. Each card has its run's latest line and changes.
 * Cards move by themselves as runs continue.
 *
 * The state of a run decides its column. A session shows its runs in progress, or its newest run. Candidates of one group are one item, with the
 * status that matters most. An ended run is to review while its session has unread messages, or its changes wait for the user.
 */
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { DeviceId, RunId, SessionId, TaskGroupId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useMemo } from "react"
import { latestRunsQuery } from "../api/RunsAndGroups.ts"
import { pendingCountQuery, pendingInputsQuery, usePending, useWaitingRuns } from "../api/Pending.ts"
import {
  type Rights,
  projectsQuery,
  targetsQuery,
  useAgentName,
  useOfflineTargets,
  useProjects,
  useRights,
  useTargetName,
  useTargets
} from "../api/ProjectsAndTargets.ts"
import { useSessions } from "../api/Sessions.ts"
import { CompareLink, GroupProgress } from "../group/GroupProgress.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { WorkLink, useWorkTitle } from "../runs/RunRows.tsx"
import {
  StatusMark,
  type WorkStatus,
  isInProgress,
  runStatus,
  strongestOf
} from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { useOfflineText } from "../thread/DeviceBanner.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { RunCost } from "../usage/RunUsage.tsx"
import { ChangeCounts, RunTime, useRunTail } from "./RunTail.tsx"
import { boardMessages } from "./messages.ts"
import "../approval/approval.css"
import "./board.css"

/** What matters most comes first. */
const boardColumns = ["needsYou", "working", "waiting", "toReview", "done"] as const
type BoardColumn = (typeof boardColumns)[number]

interface BoardItem {
  readonly run: HubRun
  /** The loaded session of the run. */
  readonly session: SessionItem | undefined
  readonly status: WorkStatus
}

type Board = { readonly [C in BoardColumn]: ReadonlyArray<BoardItem> }

interface Sources {
  readonly runs: ReadonlyArray<HubRun>
  /** Runs with a pending approval or question for the user. */
  readonly waiting: ReadonlySet<RunId>
  readonly sessions: ReadonlyArray<SessionItem>
  /** Devices that are offline. */
  readonly offline: ReadonlySet<DeviceId>
  readonly rights: Rights
}

/** Ended runs that are shown. The list of runs has all. */
const MAX_DONE = 12

const columnOf = ({ run: { state }, session, status }: BoardItem): BoardColumn => {
  if (status === "needsOthers") return "waiting"
  if (isInProgress(state)) return status === "needsYou" || status === "waiting" ? status : "working"
  return status === "changes" || (session?.unread ?? 0) > 0 ? "toReview" : "done"
}

/** Runs in progress, and the newest run of each session without one, newest first. One run of each group. */
const shownRuns = (runs: ReadonlyArray<HubRun>): ReadonlyArray<HubRun> => {
  const newestFirst = runs.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const seen = new Set<SessionId | TaskGroupId>()
  const busy = new Set(
    newestFirst.filter(({ state }) => isInProgress(state)).map(({ sessionId }) => sessionId)
  )
  return newestFirst.filter(({ groupId, sessionId, state }) => {
    if (groupId !== undefined && seen.has(groupId)) return false
    if (sessionId === undefined || isInProgress(state)) {
      if (groupId !== undefined) seen.add(groupId)
      return true
    }
    if (busy.has(sessionId) || seen.has(sessionId)) return false
    seen.add(sessionId)
    return true
  })
}

/** Runs by column. */
export const boardOf = ({ offline, rights, runs, sessions, waiting }: Sources): Board => {
  const sessionById = new Map(sessions.map((session) => [session.id, session]))
  const items = shownRuns(runs).map((run): BoardItem => {
    const session = run.sessionId === undefined ? undefined : sessionById.get(run.sessionId)
    const together = run.groupId === undefined ? [run] : runs.filter(({ groupId }) => groupId === run.groupId)
    const status = strongestOf(together.map((each) => runStatus(each, { offline, rights, waiting })))
    return { run, session, status }
  })
  const inColumn = (column: BoardColumn) => items.filter((item) => columnOf(item) === column)
  return {
    needsYou: inColumn("needsYou"),
    working: inColumn("working"),
    waiting: inColumn("waiting"),
    toReview: inColumn("toReview"),
    done: inColumn("done").slice(0, MAX_DONE)
  }
}

interface BoardCardProps {
  readonly item: BoardItem
  /** The approval that the run waits for. */
  readonly approval: HubApproval | undefined
  /** The question that the run waits for. */
  readonly input: HubInput | undefined
}

/** Why the run is where it is: what it waits for, what failed, or what it does. */
const useLine = ({ approval, input, item: { run, status } }: BoardCardProps): string | undefined => {
  const messages = useMessages(boardMessages)
  const target = useTargets().find(({ id }) => id === run.targetId)
  const offline = useOfflineText(target)
  const { line } = useRunTail(run)
  const textOf = useErrorSentence()
  if (approval !== undefined) return approval.request.command ?? approval.request.title
  if (input !== undefined && status === "needsYou") return input.title
  if (status === "changes" && run.changes !== undefined) return messages.filesToDecide(run.changes.fileCount)
  if (status === "background" && run.outstanding !== undefined) return run.outstanding.titles.join(", ")
  if (run.state === "queued") return messages.waitsFor(target?.name ?? "")
  if (status === "offline") return offline
  return run.error === undefined ? line : textOf(run.error)
}

const CardHead = ({ run }: Pick<BoardItem, "run">) => {
  const title = useWorkTitle(run)
  return (
    <div className="card-head">
      <WorkLink runId={run.id} sessionId={run.sessionId} className="card-title">
        <bdi>{title}</bdi>
      </WorkLink>
    </div>
  )
}

/** Card of a group of candidates: how far each is, and the way to the comparison. */
const GroupCardOnBoard = ({ groupId, item }: { readonly groupId: TaskGroupId; readonly item: BoardItem }) => {
  const { run, status } = item
  const target = useTargetName(run.targetId)
  return (
    <li className={`card card-${status}`}>
      <CardHead run={run} />
      <GroupProgress groupId={groupId} />
      <p className="card-facts">
        <StatusMark status={status} /> {status !== "offline" && status !== "paused" && <RunTime run={run} />}
      </p>
      <p className="card-place">
        <span>{target}</span> <CompareLink groupId={groupId} />
      </p>
    </li>
  )
}

/** Card of a run on the board: title, status, agent and device, latest line, changes, duration and cost. */
const BoardCard = ({ approval, input, item }: BoardCardProps) => {
  const messages = useMessages(boardMessages)
  const { run, status } = item
  const projects = useProjects()
  // In a single project its name says nothing.
  const project = projects.length > 1 ? projects.find(({ id }) => id === run.projectId)?.name : undefined
  const agent = useAgentName(run.targetId, run.agentId)
  const target = useTargetName(run.targetId)
  const line = useLine({ approval, input, item })
  const { changes, usage } = useRunTail(run)
  return (
    <li className={`card card-${status}`}>
      <CardHead run={run} />
      {line !== undefined && (
        <p className="card-line">
          {approval?.request.command === undefined ? (
            <bdi>{visibleLine(line)}</bdi>
          ) : (
            <code>{visibleLine(line)}</code>
          )}
        </p>
      )}
      <p className="card-facts">
        <StatusMark status={status} />{" "}
        {approval === undefined ? (
          // How long a device works that can't be heard is not known. A paused run's time stands still.
          status !== "offline" && status !== "paused" && <RunTime run={run} />
        ) : (
          <span className={`risk risk-${approval.request.risk}`}>
            {messages.risks[approval.request.risk]}
          </span>
        )}
        <RunCost usage={usage} />
      </p>
      <p className="card-place">
        <span>{[agent, target, project].filter((part) => part !== undefined).join(" · ")}</span>{" "}
        {approval === undefined ? <ChangeCounts changes={changes} run={run} /> : <RunTime run={run} />}
      </p>
    </li>
  )
}

interface ColumnProps {
  readonly column: BoardColumn
  readonly items: ReadonlyArray<BoardItem>
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
}

const Column = ({ approvals, column, inputs, items }: ColumnProps) => {
  const messages = useMessages(boardMessages)
  const name = messages.columns[column]
  return (
    <section className="board-column" aria-label={name}>
      <h2>
        {name} <span className="board-count">{items.length}</span>
      </h2>
      {items.length === 0 ? (
        <p className="board-empty">{messages.empty[column]}</p>
      ) : (
        <ul aria-label={name}>
          {items.map((item) =>
            item.run.groupId !== undefined ? (
              <GroupCardOnBoard key={item.run.groupId} groupId={item.run.groupId} item={item} />
            ) : (
              <BoardCard
                key={item.run.id}
                item={item}
                approval={
                  item.status === "needsYou"
                    ? approvals.find(({ runId }) => runId === item.run.id)
                    : undefined
                }
                input={inputs.find(({ runId }) => runId === item.run.id)}
              />
            )
          )}
        </ul>
      )}
    </section>
  )
}

const ProjectChoice = ({ projectId = "" }: { readonly projectId: string | undefined }) => {
  const messages = useMessages(boardMessages)
  const navigate = useNavigate({ from: "/board" })
  const projects = useProjects()
  if (projects.length < 2) return null
  return (
    <select
      className="short"
      aria-label={messages.project}
      value={projectId}
      onChange={({ currentTarget: { value } }) =>
        void navigate({ search: value === "" ? {} : { projectId: value }, replace: true })
      }
    >
      <option value="">{messages.allProjects}</option>
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

/** Whether what places and names the cards is loading: all of it is drawn at once, so that nothing moves. */
const useIsLoading = (): boolean => {
  const sessions = useSessions({ state: "active" })
  const queries = [
    useQuery(latestRunsQuery),
    useQuery(pendingCountQuery),
    useQuery(pendingInputsQuery),
    useQuery(projectsQuery),
    useQuery(targetsQuery())
  ]
  return sessions.isLoading || queries.some(({ isLoading }) => isLoading)
}

export const BoardPage = ({
  filter: { projectId }
}: {
  readonly filter: { readonly projectId?: string }
}) => {
  const messages = useMessages(boardMessages)
  const { data: runs, error } = useQuery(latestRunsQuery)
  const { approvals, inputs } = usePending()
  const rights = useRights()
  const waiting = useWaitingRuns()
  const sessions = useSessions({ state: "active" }).items
  const offline = useOfflineTargets()
  const isLoading = useIsLoading()
  const board = useMemo(() => {
    const shown = (runs ?? []).filter((run) => projectId === undefined || run.projectId === projectId)
    return boardOf({ runs: shown, waiting, offline, rights, sessions })
  }, [offline, projectId, rights, runs, sessions, waiting])
  return (
    <PageFrame
      title={messages.title}
      actions={
        <>
          <ProjectChoice projectId={projectId} />
          <Link to="/runs" className="button">
            {messages.allRuns}
          </Link>
        </>
      }
    >
      <RefusalNote error={error} />
      {isLoading && <Loading />}
      {runs !== undefined && !isLoading && (
        <div className="board">
          {boardColumns.map((column) => (
            <Column key={column} column={column} items={board[column]} {...{ approvals, inputs }} />
          ))}
        </div>
      )}
    </PageFrame>
  )
}
