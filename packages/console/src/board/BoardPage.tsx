/** Board of parallel runs: a column for each state, below each other where the page is narrow. Cards move by themselves as runs continue. */
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useMemo } from "react"
import { latestRunsQuery } from "../api/LatestRuns.ts"
import { pendingCountQuery, usePending, useWaitingRuns } from "../api/PendingCount.ts"
import { pendingInputsQuery } from "../api/PendingInputs.ts"
import {
  projectsQuery,
  targetsQuery,
  useOfflineTargets,
  useProjects,
  useRights
} from "../api/ProjectsAndTargets.ts"
import { useSessions } from "../api/Sessions.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { BoardCard } from "./BoardCard.tsx"
import { type BoardColumn, type BoardItem, boardColumns, boardOf } from "./boardColumns.ts"
import { boardMessages } from "./messages.ts"
import "./board.css"

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
          {items.map((item) => (
            <BoardCard
              key={item.run.id}
              item={item}
              approval={
                item.status === "needsYou" ? approvals.find(({ runId }) => runId === item.run.id) : undefined
              }
              input={inputs.find(({ runId }) => runId === item.run.id)}
            />
          ))}
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
