/** Work in the background on one line, from its start to its end. */
import type { WorkBlock } from "@corral/domain/run/RunBlock"
import { visibleLine } from "../markdown/visible.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { Clock } from "./Clock.tsx"
import { threadMessages } from "./messages.ts"
import "./work.css"

export const workIcons: Readonly<Record<WorkBlock["work"], IconName>> = {
  agent: "agent",
  command: "command",
  goal: "check",
  timer: "clock"
}

const marks: Readonly<Record<WorkBlock["state"], string>> = {
  running: "●",
  completed: "✓",
  failed: "✕",
  stopped: "■",
  unfinished: "⊘"
}

const tones: Readonly<Record<WorkBlock["state"], string>> = {
  running: "started",
  completed: "completed",
  failed: "failed",
  stopped: "cancelled",
  unfinished: "failed"
}

interface Props {
  readonly block: WorkBlock
  /** Whether the run has ended: nothing of it still runs. */
  readonly isOver: boolean
}

export const WorkLine = ({ block: { at, endedAt, state: workState, title, work }, isOver }: Props) => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const state = workState === "running" && isOver ? "unfinished" : workState
  return (
    <p className="work-line">
      <Icon name={workIcons[work]} />
      <span className="action-what">
        <span className="action-verb">{messages.inBackground}</span> <bdi>{visibleLine(title, 400)}</bdi>
      </span>
      <span className={`tool-state tool-state-${tones[state]}`}>
        <span aria-hidden="true">{marks[state]} </span>
        <span className={state === "completed" ? "hidden" : ""}>{messages.workStates[state]}</span>{" "}
        {state === "running" && <Clock since={at} />}
        {endedAt !== undefined && (
          <span className="quiet">{formatDuration(Date.parse(endedAt) - Date.parse(at), language)}</span>
        )}
      </span>
    </p>
  )
}
