/**
 * Columns of the board: the state of a run decides its column. Pure.
 *
 * A session shows its runs in progress, or its newest run. Candidates of one group are one item, with the status that matters most. An ended run is to review while its session has unread messages, or its changes wait
 * for the user.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { DeviceId, RunId, SessionId, TaskGroupId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import type { Rights } from "../api/ProjectsAndTargets.ts"
import { isInProgress, runStatus, strongestOf, type WorkStatus } from "../status/SessionStatus.tsx"

/** What matters most comes first. */
export const boardColumns = ["needsYou", "working", "waiting", "toReview", "done"] as const
export type BoardColumn = (typeof boardColumns)[number]

export interface BoardItem {
  readonly run: HubRun
  /** The loaded session of the run. */
  readonly session: SessionItem | undefined
  readonly status: WorkStatus
}

export type Board = { readonly [C in BoardColumn]: ReadonlyArray<BoardItem> }

interface Sources {
  readonly runs: ReadonlyArray<HubRun>
  /** Runs with a pending approval or question for the user. */
  readonly waiting: ReadonlySet<RunId>
  readonly sessions: ReadonlyArray<SessionItem>
  /** Devices that are offline. */
  readonly offline: ReadonlySet<DeviceId>
  readonly rights: Rights
}

/** Ended runs that are shown. The list of runs has all. */
const MAX_DONE = 12

const columnOf = ({ run: { state }, session, status }: BoardItem): BoardColumn => {
  if (status === "needsOthers") return "waiting"
  if (isInProgress(state)) return status === "needsYou" || status === "waiting" ? status : "working"
  return status === "changes" || (session?.unread ?? 0) > 0 ? "toReview" : "done"
}

/** Runs in progress, and the newest run of each session without one, newest first. One run of each group. */
const shownRuns = (runs: ReadonlyArray<HubRun>): ReadonlyArray<HubRun> => {
  const newestFirst = runs.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const seen = new Set<SessionId | TaskGroupId>()
  const busy = new Set(
    newestFirst.filter(({ state }) => isInProgress(state)).map(({ sessionId }) => sessionId)
  )
  return newestFirst.filter(({ groupId, sessionId, state }) => {
    if (groupId !== undefined && seen.has(groupId)) return false
    if (sessionId === undefined || isInProgress(state)) {
      if (groupId !== undefined) seen.add(groupId)
      return true
    }
    if (busy.has(sessionId) || seen.has(sessionId)) return false
    seen.add(sessionId)
    return true
  })
}

export const boardOf = ({ offline, rights, runs, sessions, waiting }: Sources): Board => {
  const sessionById = new Map(sessions.map((session) => [session.id, session]))
  const items = shownRuns(runs).map((run): BoardItem => {
    const session = run.sessionId === undefined ? undefined : sessionById.get(run.sessionId)
    const together = run.groupId === undefined ? [run] : runs.filter(({ groupId }) => groupId === run.groupId)
    const status = strongestOf(together.map((each) => runStatus(each, { offline, rights, waiting })))
    return { run, session, status }
  })
  const inColumn = (column: BoardColumn) => items.filter((item) => columnOf(item) === column)
  return {
    needsYou: inColumn("needsYou"),
    working: inColumn("working"),
    waiting: inColumn("waiting"),
    toReview: inColumn("toReview"),
    done: inColumn("done").slice(0, MAX_DONE)
  }
}
