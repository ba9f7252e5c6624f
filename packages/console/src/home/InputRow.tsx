/** An open question or plan on one row, which leads to its thread. */
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useWorkTitle, WorkLink } from "../runs/WorkLink.tsx"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { inputMessages } from "../input/messages.ts"
import "./home.css"
import "../input/input.css"

interface Props {
  readonly input: HubInput
  readonly sessionId: HubRun["sessionId"]
}

export const InputRow = ({ input, sessionId }: Props) => {
  const messages = useMessages(inputMessages)
  const { agentId, kind, questions = [], requestedAt, runId, targetId, title, workspace } = input
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const work = useWorkTitle({ input: { text: title }, sessionId })
  const places = [agent, target, workspace].filter((part) => part !== undefined)
  return (
    <li className="row">
      <div className="row-main">
        <div className="home-head">
          <WorkLink runId={runId} sessionId={sessionId} className="row-title">
            <bdi>{work}</bdi>
          </WorkLink>{" "}
          <span className="input-badge">{messages.kinds[kind]}</span>{" "}
          <span className="home-place">
            {places.join(" · ")} · <Time at={requestedAt} />
          </span>
        </div>
        <span className="home-detail">
          <bdi>{visibleLine(questions.length === 1 ? (questions[0]?.text ?? title) : title, 160)}</bdi>
        </span>
      </div>
      <div className="row-side">
        <WorkLink runId={runId} sessionId={sessionId} className="button small">
          {kind === "plan" ? messages.toPlan : messages.toAnswer}
        </WorkLink>
      </div>
    </li>
  )
}
