/**
 * What a session does, from its runs and pending approvals: a session that needs a person is marked so, even while others of its runs work.
 *
 * Pure. `failed` is the state of the newest run; a later run clears it.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"

/** In the order in which they matter. */
export const workStatuses = ["needsYou", "working", "waiting", "failed", "stopped", "idle"] as const
export type WorkStatus = (typeof workStatuses)[number]

export type RunFacts = Pick<HubRun, "id" | "state" | "createdAt" | "pendingApprovals"> & {
  readonly sessionId?: SessionId
}

const statusByState: { readonly [S in HubRun["state"]]: WorkStatus } = {
  waiting_approval: "needsYou",
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

/** `waiting`: runs with a pending approval. The list of approvals can be newer than the run. */
export const runStatus = (
  { id, state }: Pick<RunFacts, "id" | "state">,
  waiting: ReadonlySet<RunId>
): WorkStatus => (isInProgress(state) && waiting.has(id) ? "needsYou" : statusByState[state])

const isStronger = (a: WorkStatus, b: WorkStatus): boolean =>
  workStatuses.indexOf(a) < workStatuses.indexOf(b)

/** Status of each session that is not idle. */
export const sessionStatuses = (
  runs: ReadonlyArray<RunFacts>,
  approvals: ReadonlyArray<{ readonly runId: RunId }>
): ReadonlyMap<SessionId, WorkStatus> => {
  const waiting = new Set(approvals.map(({ runId }) => runId))
  const found = new Map<SessionId, WorkStatus>()
  const newest = new Map<SessionId, RunFacts>()
  for (const run of runs) {
    const { createdAt, sessionId, state } = run
    if (sessionId === undefined) continue
    const before = newest.get(sessionId)
    if (before === undefined || before.createdAt < createdAt) newest.set(sessionId, run)
    const status = runStatus(run, waiting)
    if (isInProgress(state) && isStronger(status, found.get(sessionId) ?? "idle"))
      found.set(sessionId, status)
  }
  for (const [sessionId, { state }] of newest)
    if (state === "failed" && !found.has(sessionId)) found.set(sessionId, "failed")
  return found
}
