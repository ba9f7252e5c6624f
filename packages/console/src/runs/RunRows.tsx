/** Rows of runs: prompt, state, agent and device. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import { useProjectName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { runsMessages } from "./messages.ts"

/** First non-empty line of a prompt, truncated for a row. */
export const promptTitle = (text: string): string =>
  (text.split("\n").find((line) => line.trim() !== "") ?? "").trim().slice(0, 200)

const RunRow = ({ run }: { readonly run: HubRun }) => {
  const project = useProjectName(run.projectId)
  const target = useTargetName(run.targetId)
  return (
    <li className="row">
      <div className="row-main">
        <Link to="/runs/$runId" params={{ runId: run.id }} className="row-title">
          <bdi>{promptTitle(run.input.text)}</bdi>
        </Link>
        <span className="quiet">
          {[project, run.agentId, target, run.workspace].filter((part) => part !== undefined).join(" · ")}
        </span>
      </div>
      <div className="row-side">
        <StateBadge state={run.state} />
        <Time at={run.createdAt} />
        <ShortId id={run.id} />
      </div>
    </li>
  )
}

interface Props {
  readonly runs: ReadonlyArray<HubRun>
  /** Accessible name of the list. */
  readonly label?: string
}

export const RunRows = ({ label, runs }: Props) => {
  const messages = useMessages(runsMessages)
  return runs.length === 0 ? null : (
    <ul className="rows" aria-label={label ?? messages.list}>
      {runs.map((run) => (
        <RunRow key={run.id} run={run} />
      ))}
    </ul>
  )
}
