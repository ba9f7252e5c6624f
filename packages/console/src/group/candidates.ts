/** Candidates of a group as people see them: their letter, their status, and how far the group is. Pure. */
import type { GroupCandidate, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { CheckResult } from "@corral/domain/run/Check"
import type { TaskState } from "@corral/domain/task/Task"
import { isInProgress, runStatus, type StatusContext, type WorkStatus } from "../status/SessionStatus.tsx"

/** Short name of a candidate in tables: its place in the group. */
export const letterOf = (at: number): string => String.fromCodePoint(65 + at)

/** The agent's label without its model, which stands next to it. */
export const agentLabel = ({ label, task }: Pick<GroupCandidate, "label" | "task">): string => {
  const suffix = ` (${task.model ?? ""})`
  return label.endsWith(suffix) && label.length > suffix.length ? label.slice(0, -suffix.length) : label
}

const statusOfTask: { readonly [S in TaskState]: WorkStatus } = {
  pending: "waiting",
  queued: "waiting",
  dispatched: "waiting",
  running: "working",
  completed: "idle",
  failed: "failed",
  expired: "failed",
  cancelled: "stopped"
}

export const candidateStatus = (
  { run, task }: Pick<GroupCandidate, "run" | "task">,
  context: StatusContext
): WorkStatus => {
  if (run === undefined) return statusOfTask[task.state]
  const status = runStatus(run, context)
  // Changes of all candidates wait for one decision: which one is good.
  return status === "changes" ? "idle" : status
}

/** Whether the candidate works, or waits to do so. */
export const isBusy = ({ run, task }: Pick<GroupCandidate, "run" | "task">): boolean =>
  run === undefined
    ? statusOfTask[task.state] === "waiting" || statusOfTask[task.state] === "working"
    : isInProgress(run.state)

export const isPaused = ({ run }: Pick<GroupCandidate, "run">): boolean =>
  run !== undefined && isInProgress(run.state) && run.paused === true

/** Number of candidates that have ended. */
export const endedCount = ({ candidates }: Pick<TaskGroup, "candidates">): number =>
  candidates.filter((candidate) => !isBusy(candidate)).length

export const checksOf = ({ changes }: Pick<GroupCandidate, "changes">): ReadonlyArray<CheckResult> =>
  changes?.checks?.results ?? []

/** Whether a person decided about the changes, or the run continued, after they were checked. */
export const areChecksOld = ({ changes }: Pick<GroupCandidate, "changes">): boolean =>
  changes?.checks?.version !== undefined && changes.checks.version !== changes.version

/** Undecided changes of all candidates: the most advanced status of the group is for the person. */
export const groupStatus = (
  { candidates, continuedTaskId }: Pick<TaskGroup, "candidates" | "continuedTaskId">,
  context: StatusContext
): WorkStatus => {
  const statuses = candidates.map((candidate) => candidateStatus(candidate, context))
  const order = ["needsYou", "needsOthers", "working", "background", "paused", "offline", "waiting"] as const
  const live = order.find((each) => statuses.includes(each))
  if (live !== undefined) return live
  const hasOpen = candidates.some(({ changes }) => changes?.state === "open")
  if (hasOpen && continuedTaskId === undefined) return "changes"
  return statuses.every((status) => status === "failed") ? "failed" : "idle"
}
