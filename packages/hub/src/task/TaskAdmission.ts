/**
 * Conditions under which a task is accepted and may still run. A task can wait longer than the rights of its author last, so they are checked
 * again before the task is dispatched.
 */
import { type RoleAction, roleRefusal } from "@corral/domain/access/Authorization"
import {
  PermissionDenied,
  UnauthorizedTarget,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { RunFailure } from "@corral/domain/run/Run"
import type { DeviceId, ProjectId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import type { CreateTask } from "@corral/domain/task/Task"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { memberRoleRows } from "../authority/ProjectProof.ts"
import type { Targets } from "../edges/Targets.ts"
import { validationFailure } from "../run/OfferRefusal.ts"
import type { Runs } from "../run/Runs.ts"
import type { SessionProject } from "../session/SessionTable.ts"

/** A refusal as the failure of a task or a message. Only that of a limit has details there: the figures. */
export const failureOf = ({ code, details, message }: Coded<ErrorCode>): RunFailure =>
  code === "budget_exceeded" && details !== undefined
    ? { code, message, details: { ...details } }
    : { code, message }

/** Fails unless the session belongs to the task's project. */
export const checkSession = Effect.fnUntraced(function* (
  sessions: SessionProject["Service"],
  { projectId, sessionId }: CreateTask
) {
  if (sessionId !== undefined && (yield* sessions.find(sessionId)) !== projectId)
    return yield* new PermissionDenied()
})

/** Fails unless the task can resume the run: it is of the same project, target, agent and workspace. */
export const checkResumed = Effect.fnUntraced(function* (
  runs: Runs["Service"],
  { agentId, projectId, resume, targetId, workspace }: CreateTask
) {
  if (resume === undefined) return
  const earlier = yield* runs.locate(resume)
  if (earlier?.projectId !== projectId) return yield* new PermissionDenied()
  if (earlier.targetId !== targetId)
    return yield* validationFailure("resume", "Expected a run of the same target")
  if (!namesSameAgent(earlier.agentId, agentId))
    return yield* validationFailure("resume", "Expected a run of the same agent")
  if (earlier.workspace !== workspace)
    return yield* validationFailure("resume", "Expected a run in the same workspace")
})

interface TaskPlace {
  readonly author: UserId
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
}

/** Why the author can't use the target or its workspace; `undefined` where both are allowed. */
export const findTargetRefusal = Effect.fnUntraced(function* (
  targets: Targets["Service"],
  { author, projectId, targetId, workspace }: TaskPlace
) {
  const access = yield* targets.findAccess(author, targetId, projectId, workspace)
  if (!access.canRoute) return new UnauthorizedTarget()
  return access.canUseWorkspace ? undefined : new WorkspaceOutsideAllowlist()
})

/** Why a waiting task must fail: its author has lost the role for one of the actions, the target or the workspace. */
export const findDispatchRefusal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targets: Targets["Service"],
  place: TaskPlace,
  actions: ReadonlyArray<RoleAction> = ["task.create"]
) {
  const { author, projectId } = place
  const member = yield* memberRoleRows.first(sql`
    SELECT role FROM project_members WHERE project_id = ${projectId} AND user_id = ${author}`)
  for (const action of actions) {
    const refusal = roleRefusal(action, member?.role)
    if (refusal !== undefined) return refusal
  }
  return yield* findTargetRefusal(targets, place)
})

const DAY_MS = 86_400_000
const DEFAULT_WAIT_MS = DAY_MS
const MAX_WAIT_MS = 30 * DAY_MS

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/** When a queued task expires. `now` in Unix milliseconds. */
export const expiryOf = Effect.fnUntraced(function* (
  { expiresAt, onOffline }: Pick<CreateTask, "expiresAt" | "onOffline">,
  now: number
) {
  if (expiresAt === undefined) return new Date(now + DEFAULT_WAIT_MS)
  const at = isoTime.test(expiresAt) ? Date.parse(expiresAt) : Number.NaN
  const ahead = at - now
  if (!(ahead <= MAX_WAIT_MS && (ahead > 0 || onOffline !== "queue")))
    return yield* validationFailure("expiresAt", "Expected an ISO 8601 time within the next 30 days")
  return new Date(at)
})
