/** How far a group of candidates is, on one line, and the link to its comparison. For cards and rows that stand for the whole group. */
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { taskGroupQuery } from "../api/RunsAndGroups.ts"
import { visibleLine } from "../markdown/visible.ts"
import { StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { useStatusContext } from "./CandidateFacts.tsx"
import { candidateStatus, checksOf, endedCount, letterOf } from "./candidates.ts"
import { groupMessages } from "./messages.ts"
import "./group.css"

interface Props {
  readonly groupId: TaskGroupId
}

export const GroupProgress = ({ groupId }: Props) => {
  const messages = useMessages(groupMessages)
  const context = useStatusContext()
  const { data: group } = useQuery(taskGroupQuery(groupId))
  // Its row keeps its height while it loads.
  if (group === undefined) return <span className="group-progress" />
  const { candidates, continuedTaskId } = group
  const checked = candidates.filter((each) => checksOf(each).length > 0)
  const passed = checked.filter((each) => checksOf(each).every(({ state }) => state === "passed")).length
  const chosen = candidates.find(({ task }) => task.id === continuedTaskId)
  const facts = [
    messages.group(candidates.length),
    chosen === undefined
      ? messages.progress(endedCount(group), candidates.length)
      : messages.continuedWith(visibleLine(chosen.label, 60)),
    ...(checked.length === 0 ? [] : [messages.passed(passed, checked.length)])
  ]
  return (
    <span className="group-progress">
      <span>{facts.join(" · ")}</span>{" "}
      <span className="group-marks">
        {candidates.map((candidate, at) => (
          <span key={candidate.task.id} title={visibleLine(candidate.label, 60)}>
            <span aria-hidden="true">{letterOf(at)}</span>{" "}
            <span className="hidden">{messages.candidate(letterOf(at))} </span>
            <StatusMark compact status={candidateStatus(candidate, context)} />
          </span>
        ))}
      </span>
    </span>
  )
}

export const CompareLink = ({ groupId }: Props) => {
  const messages = useMessages(groupMessages)
  return (
    <Link to="/compare/$groupId" params={{ groupId }} className="compare-link">
      {messages.compare}
    </Link>
  )
}
