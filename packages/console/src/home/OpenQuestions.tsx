/** All open questions and plans as rows, and changes that wait. Nothing where there are none. */
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { usePendingInputs } from "../api/Pending.ts"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { OpenChanges } from "./ChangesRow.tsx"
import { inputMessages } from "../input/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useWorkTitle, WorkLink } from "../runs/RunRows.tsx"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import "../input/input.css"
import "./home.css"

interface Props {
  readonly input: HubInput
  readonly sessionId: HubRun["sessionId"]
}

/** An open question or plan on one row, which leads to its thread. */
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

const Questions = () => {
  const messages = useMessages(inputMessages)
  const inputs = usePendingInputs()
  const runs = useLatestRuns()
  if (inputs.length === 0) return null
  return (
    <section className="open-questions home" aria-label={messages.questions}>
      <ul className="rows" aria-label={messages.questions}>
        {inputs.map((input) => (
          <InputRow
            key={input.id}
            input={input}
            sessionId={runs.find(({ id }) => id === input.runId)?.sessionId}
          />
        ))}
      </ul>
    </section>
  )
}

export const OpenQuestions = () => (
  <>
    <Questions />
    <OpenChanges />
  </>
)
