/**
 * What a session does, from its runs, pending approvals and questions, and the mark that shows it: a session that needs a person is marked so, even
 * while others of its runs work.
 *
 * `failed` is the state of the newest run; a later run clears it.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { DeviceId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { useMemo } from "react"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { useWaitingRuns } from "../api/Pending.ts"
import { type Rights, useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { bilingual, useMessages } from "../text/Language.tsx"
import "./status.css"

/** In the order in which they matter. */
const workStatuses = [
  "needsYou",
  "needsOthers",
  "working",
  "background",
  "paused",
  "offline",
  "waiting",
  "changes",
  "failed",
  "stopped",
  "idle"
] as const
export type WorkStatus = (typeof workStatuses)[number]

export type RunFacts = Pick<
  HubRun,
  "id" | "state" | "paused" | "projectId" | "targetId" | "createdAt" | "pendingApprovals" | "turn" | "changes"
> & {
  readonly sessionId?: SessionId
}

const statusByState: { readonly [S in HubRun["state"]]: WorkStatus } = {
  waiting_approval: "needsYou",
  waiting_input: "needsYou",
  created: "working",
  starting: "working",
  running: "working",
  queued: "waiting",
  failed: "failed",
  completed: "idle",
  cancelled: "stopped"
}

export const isInProgress = (state: HubRun["state"]): boolean =>
  state !== "completed" && state !== "failed" && state !== "cancelled"

/** What else decides the status of a run. */
export interface StatusContext {
  /** Runs with a pending approval or question for the user. Those lists can be newer than the run. */
  readonly waiting: ReadonlySet<RunId>
  /** Devices that are offline: what their runs do is not known. */
  readonly offline: ReadonlySet<DeviceId>
  /** What the user can answer. */
  readonly rights: Rights
}

/** Whether the user can give the answer that a run waits for. */
const isForUser = (
  { projectId, state }: Pick<RunFacts, "projectId" | "state">,
  { mayDecide, mayWork }: Rights
): boolean => (state === "waiting_input" ? mayWork : mayDecide)(projectId)

/** Whether changes wait for the user. */
const hasOpenChanges = (
  { changes, projectId }: Pick<RunFacts, "changes" | "projectId">,
  { mayDecide }: Rights
): boolean => changes?.state === "open" && changes.direct !== true && mayDecide(projectId)

export const runStatus = (
  run: Pick<RunFacts, "id" | "state" | "paused" | "projectId" | "targetId" | "turn" | "changes">,
  { offline, rights, waiting }: StatusContext
): WorkStatus => {
  const { id, paused, state, targetId, turn } = run
  if (isInProgress(state) && waiting.has(id)) return "needsYou"
  const status = statusByState[state]
  if (status === "needsYou") return isForUser(run, rights) ? status : "needsOthers"
  // A failure says more than what it left.
  if ((status === "idle" || status === "stopped") && hasOpenChanges(run, rights)) return "changes"
  if (status !== "working") return status
  if (offline.has(targetId)) return "offline"
  if (paused === true) return "paused"
  return turn === "idle" ? "background" : status
}

const isStronger = (a: WorkStatus, b: WorkStatus): boolean =>
  workStatuses.indexOf(a) < workStatuses.indexOf(b)

/** The status that matters most. `idle` without any. */
export const strongestOf = (statuses: ReadonlyArray<WorkStatus>): WorkStatus =>
  workStatuses.find((status) => statuses.includes(status)) ?? "idle"

/** Status of each session that is not idle. */
export const sessionStatuses = (
  runs: ReadonlyArray<RunFacts>,
  context: StatusContext
): ReadonlyMap<SessionId, WorkStatus> => {
  const found = new Map<SessionId, WorkStatus>()
  const newest = new Map<SessionId, RunFacts>()
  for (const run of runs) {
    const { createdAt, sessionId, state } = run
    if (sessionId === undefined) continue
    const before = newest.get(sessionId)
    if (before === undefined || before.createdAt < createdAt) newest.set(sessionId, run)
    const status = runStatus(run, context)
    if (isInProgress(state) && isStronger(status, found.get(sessionId) ?? "idle"))
      found.set(sessionId, status)
  }
  for (const [sessionId, run] of newest) {
    if (found.has(sessionId)) continue
    const status = runStatus(run, context)
    if (status === "failed" || status === "changes") found.set(sessionId, status)
  }
  return found
}

/** Status of each session that is not idle, as it changes. */
export const useSessionStatuses = (): ReadonlyMap<SessionId, WorkStatus> => {
  const runs = useLatestRuns()
  const waiting = useWaitingRuns()
  const offline = useOfflineTargets()
  const rights = useRights()
  return useMemo(() => sessionStatuses(runs, { offline, rights, waiting }), [offline, rights, runs, waiting])
}

/** UI text of the status of work. */
const statusMessages = bilingual(
  {
    words: {
      needsYou: "Needs you",
      needsOthers: "Needs another member",
      working: "Working",
      background: "In the background",
      paused: "Paused",
      offline: "Device offline",
      waiting: "Waiting",
      changes: "Changes to decide",
      failed: "Failed",
      stopped: "Stopped",
      idle: "Done"
    }
  },
  {
    words: {
      needsYou: "等您处理",
      needsOthers: "等其他成员处理",
      working: "进行中",
      background: "后台工作中",
      paused: "已暂停",
      offline: "设备离线",
      waiting: "等待中",
      changes: "有更改待决定",
      failed: "失败",
      stopped: "已停止",
      idle: "已完成"
    }
  }
)

const shapes: { readonly [S in WorkStatus]: string } = {
  needsYou: "◆",
  needsOthers: "◇",
  working: "●",
  background: "◐",
  paused: "▮▮",
  offline: "⊘",
  waiting: "○",
  changes: "±",
  failed: "✕",
  stopped: "■",
  idle: "✓"
}

interface StatusMarkProps {
  readonly status: WorkStatus
  /** Whether only the shape is visible. Screen readers read the word. */
  readonly compact?: boolean
}

/** Status of work as a shape and a word, in both languages. The colour repeats them. */
export const StatusMark = ({ compact = false, status }: StatusMarkProps) => {
  const messages = useMessages(statusMessages)
  return (
    <span className={`status status-${status}`}>
      <span className="status-shape" aria-hidden="true">
        {shapes[status]}
      </span>
      <span className={compact ? "hidden" : "status-word"}>{messages.words[status]}</span>
    </span>
  )
}
