/**
 * Card of a group in a thread: a row for each candidate with its status, checks, changes and time, commands to all of them, and the way to the
 * comparison. A row unfolds the turn of its candidate, also of one that is closed.
 */
import type { GroupCandidate, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { type GroupCommand, taskGroupQuery, useGroupCommands } from "../api/RunsAndGroups.ts"
import { visibleLine } from "../markdown/visible.ts"
import { StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { CandidateCounts, CandidateTime, CheckMarks, useStatusContext } from "./CandidateFacts.tsx"
import {
  agentLabel,
  candidateStatus,
  checksOf,
  endedCount,
  isBusy,
  isPaused,
  letterOf
} from "./candidates.ts"
import { groupMessages } from "./messages.ts"
import "../run/run.css"
import "./group.css"

/** Whether the candidate was chosen, or another one was. */
export const CandidateBadge = ({ candidate, group }: { candidate: GroupCandidate; group: TaskGroup }) => {
  const messages = useMessages(groupMessages)
  if (group.continuedTaskId === candidate.task.id)
    return <span className="badge good">{messages.continued}</span>
  return candidate.closed === true ? <span className="badge">{messages.closed}</span> : null
}

/** Letter, agent and model of a candidate. */
export const CandidateName = ({ at, candidate }: { at: number; candidate: GroupCandidate }) => {
  const messages = useMessages(groupMessages)
  const { run, task } = candidate
  return (
    <>
      <span className="candidate-letter" aria-hidden="true">
        {letterOf(at)}
      </span>
      <span className="candidate-name">
        <span className="hidden">{messages.candidate(letterOf(at))} </span>
        <bdi>{visibleLine(agentLabel(candidate), 60)}</bdi>{" "}
        <span className="candidate-model">
          {visibleLine(task.model ?? run?.model ?? messages.defaultModel, 60)}
        </span>
      </span>
    </>
  )
}

const icons: { readonly [K in GroupCommand]: IconName } = { stop: "stop", pause: "pause", resume: "resume" }

interface ButtonsProps {
  readonly group: TaskGroup
  readonly commands: ReturnType<typeof useGroupCommands>
}

/** Stop, pause and resume of all candidates in progress. Nothing once all have ended. */
export const GroupButtons = ({ commands: { command }, group }: ButtonsProps) => {
  const messages = useMessages(groupMessages)
  const mayWork = useCanWork(group.projectId)
  const busy = group.candidates.filter(isBusy)
  const isAllPaused = busy.length > 0 && busy.every((each) => each.run === undefined || isPaused(each))
  const hasRuns = busy.some(({ run }) => run !== undefined && run.state !== "queued")
  if (!mayWork || busy.length === 0) return null
  const kinds: ReadonlyArray<GroupCommand> = [
    ...(hasRuns ? [isAllPaused && busy.some(isPaused) ? ("resume" as const) : ("pause" as const)] : []),
    "stop"
  ]
  return kinds.map((kind) => (
    <button
      key={kind}
      type="button"
      className="button small"
      disabled={command.isPending}
      onClick={() => command.mutate(kind)}
    >
      <Icon name={icons[kind]} size={12} />
      {messages[kind]}
    </button>
  ))
}

/** Candidates that the last command did not reach, and the error of one that reached none. */
export const GroupRefusals = ({ commands: { command, continued }, group }: ButtonsProps) => {
  const messages = useMessages(groupMessages)
  const refused = [...(command.data?.refused ?? []), ...(continued.data?.refused ?? [])]
  const labelOf = (id: string) => {
    const at = group.candidates.findIndex(({ task }) => task.id === id)
    return `${letterOf(at)} ${visibleLine(group.candidates[at]?.label ?? "", 60)}`
  }
  return (
    <>
      {refused.map(({ message, taskId }) => (
        <p key={taskId} className="line warning" role="status">
          {messages.refused(labelOf(taskId), visibleLine(message, 400))}
        </p>
      ))}
      <RefusalNote error={command.error ?? continued.error} />
    </>
  )
}

interface RowProps {
  readonly group: TaskGroup
  readonly candidate: GroupCandidate
  readonly at: number
  /** The turn of the candidate. Undefined while it waits. */
  readonly turn: ReactNode
}

const CandidateRow = ({ at, candidate, group, turn }: RowProps) => {
  const status = candidateStatus(candidate, useStatusContext())
  const [toggled, setToggled] = useState<boolean>()
  const isOpen = turn !== undefined && (toggled ?? status === "needsYou")
  return (
    <li className={candidate.closed === true ? "candidate candidate-closed" : "candidate"}>
      <div className="candidate-line">
        <button
          type="button"
          className="candidate-fold"
          aria-expanded={isOpen}
          disabled={turn === undefined}
          onClick={() => setToggled(!isOpen)}
        >
          <Icon name={isOpen ? "fold" : "unfold"} size={14} />
          <CandidateName at={at} candidate={candidate} />
        </button>
        <span className="candidate-side">
          <span className="candidate-marks">
            <CandidateBadge candidate={candidate} group={group} />
            <CheckMarks results={checksOf(candidate)} />
          </span>
          <span className="candidate-changes">
            {candidate.changes !== undefined && <CandidateCounts changes={candidate.changes} />}
          </span>
          <span className="candidate-time">
            {candidate.run !== undefined && (
              <CandidateTime durationMs={candidate.durationMs} run={candidate.run} />
            )}
          </span>
          <span className="candidate-state">
            <StatusMark status={status} />
          </span>
        </span>
      </div>
      {isOpen && <div className="candidate-turn">{turn}</div>}
    </li>
  )
}

interface Props {
  readonly groupId: TaskGroupId
  /** The turn of a candidate. */
  readonly turnOf: (candidate: GroupCandidate) => ReactNode
}

export const GroupCard = ({ groupId, turnOf }: Props) => {
  const messages = useMessages(groupMessages)
  const { data: group, error, isLoading } = useQuery(taskGroupQuery(groupId))
  const commands = useGroupCommands(groupId)
  if (group === undefined)
    return (
      <section className="group-card">
        {isLoading && <Loading />}
        <RefusalNote error={error} />
      </section>
    )
  const { candidates } = group
  return (
    <section className="group-card" aria-label={messages.group(candidates.length)}>
      <header className="group-head">
        <h2>{messages.group(candidates.length)}</h2>
        <span className="quiet">{messages.progress(endedCount(group), candidates.length)}</span>
        <span className="group-actions">
          <GroupButtons commands={commands} group={group} />
          <Link to="/compare/$groupId" params={{ groupId }} className="button small">
            <Icon name="split" size={14} />
            {messages.compare}
          </Link>
        </span>
      </header>
      <ul className="candidates" aria-label={messages.candidates}>
        {candidates.map((candidate, at) => (
          <CandidateRow key={candidate.task.id} {...{ at, candidate, group }} turn={turnOf(candidate)} />
        ))}
      </ul>
      <GroupRefusals commands={commands} group={group} />
    </section>
  )
}
