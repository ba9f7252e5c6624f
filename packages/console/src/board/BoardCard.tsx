/** Card of a run on the board: title, status, agent and device, latest line, changes and duration. */
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import { useAgentName, useProjects, useTargetName, useTargets } from "../api/ProjectsAndTargets.ts"
import { useWorkTitle, WorkLink } from "../runs/WorkLink.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { StatusMark } from "../status/StatusMark.tsx"
import { useMessages } from "../text/Language.tsx"
import { useOfflineText } from "../thread/offlineText.ts"
import type { BoardItem } from "./boardColumns.ts"
import { ChangeCounts } from "./ChangeCounts.tsx"
import { RunTime } from "./RunTime.tsx"
import { boardMessages } from "./messages.ts"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { useRunTail } from "./useRunTail.ts"
import "../approval/approval.css"
import "./board.css"

interface Props {
  readonly item: BoardItem
  /** The approval that the run waits for. */
  readonly approval: HubApproval | undefined
  /** The question that the run waits for. */
  readonly input: HubInput | undefined
}

/** Why the run is where it is: what it waits for, what failed, or what it does. */
const useLine = ({ approval, input, item: { run, status } }: Props): string | undefined => {
  const messages = useMessages(boardMessages)
  const target = useTargets().find(({ id }) => id === run.targetId)
  const offline = useOfflineText(target)
  const { line } = useRunTail(run)
  const textOf = useErrorSentence()
  if (approval !== undefined) return approval.request.command ?? approval.request.title
  if (input !== undefined && status === "needsYou") return input.title
  if (status === "background" && run.outstanding !== undefined) return run.outstanding.titles.join(", ")
  if (run.state === "queued") return messages.waitsFor(target?.name ?? "")
  if (status === "offline") return offline
  return run.error === undefined ? line : textOf(run.error)
}

export const BoardCard = ({ approval, input, item }: Props) => {
  const messages = useMessages(boardMessages)
  const { run, status } = item
  const projects = useProjects()
  // In a single project its name says nothing.
  const project = projects.length > 1 ? projects.find(({ id }) => id === run.projectId)?.name : undefined
  const agent = useAgentName(run.targetId, run.agentId)
  const target = useTargetName(run.targetId)
  const line = useLine({ approval, input, item })
  const { changes } = useRunTail(run)
  const title = useWorkTitle(run)
  return (
    <li className={`card card-${status}`}>
      <div className="card-head">
        <WorkLink runId={run.id} sessionId={run.sessionId} className="card-title">
          <bdi>{title}</bdi>
        </WorkLink>
      </div>
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
      </p>
      <p className="card-place">
        <span>{[agent, target, project].filter((part) => part !== undefined).join(" · ")}</span>{" "}
        {approval === undefined ? <ChangeCounts changes={changes} run={run} /> : <RunTime run={run} />}
      </p>
    </li>
  )
}
