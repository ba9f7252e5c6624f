/** State of a thread by shape and word, with a clock while an agent works. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useEffect, useState } from "react"
import { pendingFor, type PendingRequests } from "../api/Pending.ts"
import { useRights } from "../api/ProjectsAndTargets.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"
import "./work.css"

/** Time since a moment, ISO 8601, every second. Only this text renders. */
export const Clock = ({ since }: { readonly since: string }) => {
  const { language } = useLanguage()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return <span className="clock">{formatDuration(now - Date.parse(since), language)}</span>
}

export type ThreadStatus =
  | "working"
  | "background"
  | "paused"
  | "waiting"
  | "others"
  | "queued"
  | "offline"
  | "completed"
  | "failed"
  | "cancelled"
  | "idle"

const marks: Readonly<Record<ThreadStatus, string>> = {
  working: "●",
  background: "◐",
  paused: "▮▮",
  waiting: "◆",
  others: "◇",
  queued: "○",
  offline: "⊘",
  completed: "✓",
  failed: "✕",
  cancelled: "■",
  idle: ""
}

/** `isWaiting`: an approval or a question of the run is open. */
export const statusOfRun = (run: HubRun, isWaiting: boolean): ThreadStatus => {
  if (isWaiting) return "waiting"
  switch (run.state) {
    case "completed":
    case "failed":
    case "cancelled":
    case "queued":
      return run.state
    default:
      return run.paused === true ? "paused" : run.turn === "idle" ? "background" : "working"
  }
}

/** What an agent does on a device that can't be heard is not known, and not how long. */
export const heardStatus = (status: ThreadStatus, isOffline: boolean): ThreadStatus =>
  (status === "working" || status === "background" || status === "paused") && isOffline ? "offline" : status

/** A reader who can answer nothing of what waits is not needed. */
export const usePersonalStatus = (status: ThreadStatus, pending: PendingRequests): ThreadStatus => {
  const { approvals, inputs } = pendingFor(useRights(), pending)
  return status === "waiting" && approvals.length + inputs.length === 0 ? "others" : status
}

/** The only clock of a turn: its other parts say what, not how long. */
const clocked: ReadonlySet<ThreadStatus> = new Set(["working", "waiting", "others"])

interface Props {
  readonly status: ThreadStatus
  /** Start of the turn in progress, ISO 8601. */
  readonly since?: string | undefined
}

export const ThreadState = ({ since, status }: Props) => {
  const messages = useMessages(threadMessages)
  if (status === "idle") return null
  return (
    <span className={`thread-state thread-state-${status}`}>
      <span aria-hidden="true">{marks[status]} </span>
      <span className="thread-state-word">{messages.states[status]}</span>
      {since !== undefined && clocked.has(status) && (
        <>
          {" "}
          <Clock key={since} since={since} />
        </>
      )}
    </span>
  )
}

/** Changes of the state for screen readers, each said once. */
export const StateAnnouncement = ({ status }: { readonly status: ThreadStatus }) => {
  const messages = useMessages(threadMessages)
  const texts: Readonly<Record<string, string>> = messages.announced
  return (
    <p className="hidden" role="status">
      {texts[status] ?? ""}
    </p>
  )
}
