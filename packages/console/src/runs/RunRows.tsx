/**
 * Rows of runs, and a filtered list of them, newest first: prompt, agent and device, why a run failed, state and start. States and times stand
 * below each other.
 */
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { DeviceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { firstCharacters } from "@corral/domain/text/Cut"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import {
  useAgentName,
  useOfflineTargets,
  useProjectName,
  useRights,
  useTargetName
} from "../api/ProjectsAndTargets.ts"
import { useSessionTitle } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { runStatus, StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { ListMore } from "../ui/ListStates.tsx"
import { Time } from "../ui/Time.tsx"
import { runsMessages } from "./messages.ts"
import "./runs.css"

/** First non-empty line of the message in a prompt, truncated for a row. */
export const promptTitle = (prompt: string): string =>
  firstCharacters(
    (
      messageOfPrompt(prompt)
        .split("\n")
        .find((line) => line.trim() !== "") ?? ""
    ).trim(),
    200
  )

/** The state of a run in a list says whether it waits for an approval. */
const noApprovals: ReadonlySet<HubRun["id"]> = new Set()

const RunRow = ({ run }: { readonly run: HubRun }) => {
  const project = useProjectName(run.projectId)
  const agent = useAgentName(run.targetId, run.agentId)
  const target = useTargetName(run.targetId)
  const offline = useOfflineTargets()
  const rights = useRights()
  const textOf = useErrorSentence()
  return (
    <li className="row">
      <div className="row-main">
        <Link to="/runs/$runId" params={{ runId: run.id }} className="row-title">
          <bdi>{visibleLine(promptTitle(run.input.text))}</bdi>
        </Link>
        <span className="quiet">
          {[project, agent, target, run.workspace].filter((part) => part !== undefined).join(" · ")}
        </span>
        {run.error !== undefined && (
          <span className="run-error">
            <bdi>{visibleLine(textOf(run.error), 300)}</bdi>
          </span>
        )}
      </div>
      <div className="row-side run-side">
        <StatusMark status={runStatus(run, { offline, rights, waiting: noApprovals })} />
        <Time at={run.createdAt} />
      </div>
    </li>
  )
}

interface RunRowsProps {
  readonly runs: ReadonlyArray<HubRun>
  /** Accessible name of the list. */
  readonly label?: string
}

const RunRows = ({ label, runs }: RunRowsProps) => {
  const messages = useMessages(runsMessages)
  return runs.length === 0 ? null : (
    <ul className="rows" aria-label={label ?? messages.list}>
      {runs.map((run) => (
        <RunRow key={run.id} run={run} />
      ))}
    </ul>
  )
}

interface RunListFilter {
  readonly projectId?: ProjectId
  readonly sessionId?: SessionId
  readonly targetId?: DeviceId
  readonly state?: HubRunStatus
}

interface RunListProps {
  readonly filter: RunListFilter
  /** Shown for an empty list, if the user has chosen a filter. */
  readonly noMatch?: ReactNode
}

/** Filtered list of runs, newest first. */
export const RunList = ({ filter, noMatch }: RunListProps) => {
  const messages = useMessages(runsMessages)
  const list = useList(["runs", "list", filter], ({ page, signal }) =>
    hubApi.runs.list({ query: { ...filter, ...page }, signal })
  )
  return (
    <>
      <RunRows runs={list.items} />
      <ListMore
        list={list}
        empty={
          noMatch ?? (
            <>
              <p>{messages.none}</p>
              <p>{messages.noneHint}</p>
            </>
          )
        }
      />
    </>
  )
}

/** Title of the run's session. The prompt of a later turn can begin with the earlier conversation. */
export const useWorkTitle = (run: {
  readonly input: { readonly text: string }
  readonly sessionId?: HubRun["sessionId"] | undefined
}): string => {
  const title = useSessionTitle(run.sessionId)
  return visibleLine(title ?? promptTitle(run.input.text), 120)
}

interface Props {
  readonly runId: HubRun["id"]
  readonly sessionId: HubRun["sessionId"]
  readonly className: string
  readonly children: ReactNode
}

/** Link to the session of a run, or to the run's page without one, titled like its session. */
export const WorkLink = ({ children, className, runId, sessionId }: Props) =>
  sessionId === undefined ? (
    <Link to="/runs/$runId" params={{ runId }} className={className}>
      {children}
    </Link>
  ) : (
    <Link to="/sessions/$sessionId" params={{ sessionId }} className={className}>
      {children}
    </Link>
  )
