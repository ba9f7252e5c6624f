/** Runs as rows that lead to their session: title, latest line or device, changes, state and time. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import {
  useAgentName,
  useOfflineTargets,
  useProjectName,
  useRights,
  useTargetName,
  useTargets
} from "../api/ProjectsAndTargets.ts"
import { ChangeCounts } from "../board/ChangeCounts.tsx"
import { RunTime } from "../board/RunTime.tsx"
import { useRunTail } from "../board/useRunTail.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useWorkTitle, WorkLink } from "../runs/WorkLink.tsx"
import { runStatus } from "../status/SessionStatus.ts"
import { StatusMark } from "../status/StatusMark.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { useOfflineText } from "../thread/offlineText.ts"
import "./home.css"

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
          <bdi>
            {isSilent
              ? offlineText
              : visibleLine(run.error === undefined ? (line ?? place) : textOf(run.error))}
          </bdi>
        </span>
      </div>
      <div className="row-side home-side">
        <span>
          <ChangeCounts changes={changes} run={run} />
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

interface Props {
  readonly label: string
  readonly runs: ReadonlyArray<HubRun>
}

export const WorkRows = ({ label, runs }: Props) =>
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
