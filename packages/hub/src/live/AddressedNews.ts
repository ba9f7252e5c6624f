/**
 * What there is to tell of things that may have changed, and to whom: read in one statement with who may see it, so that nobody is told by
 * what they were allowed before.
 */
import type { ApprovalState } from "@corral/domain/approval/Approval"
import { type HubNews, PRESENT_NEWS } from "@corral/domain/hub-api/HubNews"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, DeviceId, ProjectId, RunId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { TaskState } from "@corral/domain/task/Task"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Lease, deviceStateOf } from "../device/Presence.ts"
import { readableRows } from "../store/ReadableList.ts"

/** A hint and who of those that were asked about may have it. */
export interface AddressedNews {
  readonly to: ReadonlyArray<UserId> | "everyone"
  readonly news: HubNews
}

type Addressed = Effect.Effect<ReadonlyArray<AddressedNews>, SqlError.SqlError>

/** Approvals that wait, of all that the person may read. */
export const pendingNews = (
  sql: SqlClient.SqlClient,
  reader: UserId
): Effect.Effect<ReadonlyArray<HubNews>, SqlError.SqlError> =>
  readableRows<Moved>(sql, {
    table: "approvals",
    columns: "'approval' AS kind, id, run_id, project_id, state",
    reader,
    conditions: [sql`state = 'pending'`],
    order: "newest",
    after: undefined,
    limit: PRESENT_NEWS
  }).pipe(Effect.map((rows) => rows.map(newsOf)))

/** `now` in Unix milliseconds. */
export const deviceNews = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<string>,
  readers: ReadonlyArray<UserId>,
  now: number
): Addressed =>
  sql<DeviceRow>`
    SELECT d.id, d.lease_until, d.revoked_at, d.last_seen_at, d.owner_id, ARRAY(
      SELECT m.user_id FROM device_shares s JOIN project_members m ON m.project_id = s.project_id
      WHERE s.device_id = d.id AND m.user_id = ANY(${readers}::text[])
    ) AS members
    FROM devices d WHERE d.id = ANY(${ids}::text[])`.pipe(
    Effect.map((rows) =>
      rows.map((row) => {
        const lastSeenAt = row.last_seen_at?.toISOString()
        const news = { kind: "device", id: row.id, state: deviceStateOf(row, now) } as const
        return {
          to: [row.owner_id, ...row.members],
          news: lastSeenAt === undefined ? news : { ...news, lastSeenAt }
        }
      })
    )
  )

/** Of approvals, tasks and runs. */
export const projectNews = (
  sql: SqlClient.SqlClient,
  { approvals, runs, tasks }: Readonly<Record<"approvals" | "runs" | "tasks", ReadonlyArray<string>>>,
  readers: ReadonlyArray<UserId>
): Addressed =>
  sql<Moved & { readonly internal: boolean; readonly members: ReadonlyArray<UserId> }>`
    SELECT n.*, p.visibility = 'internal' AS internal, ARRAY(
      SELECT m.user_id FROM project_members m
      WHERE m.project_id = n.project_id AND m.user_id = ANY(${readers}::text[])
    ) AS members
    FROM (
      SELECT 'approval' AS kind, id, run_id, project_id, state FROM approvals WHERE id = ANY(${approvals}::text[])
      UNION ALL SELECT 'task', id, run_id, project_id, state FROM tasks WHERE id = ANY(${tasks}::text[])
      UNION ALL SELECT 'run', id, id, project_id, state FROM runs WHERE id = ANY(${runs}::text[])
    ) n JOIN projects p ON p.id = n.project_id`.pipe(
    Effect.map((rows) =>
      rows.map((row) => ({ to: row.internal ? ("everyone" as const) : row.members, news: newsOf(row) }))
    )
  )

/** What whoever has become a member of those projects has not been told of. */
export const standingIn = (
  sql: SqlClient.SqlClient,
  projects: ReadonlyArray<string>
): Effect.Effect<
  ReadonlyArray<{ readonly kind: "approval" | "device"; readonly id: string }>,
  SqlError.SqlError
> => sql<{ readonly kind: "approval" | "device"; readonly id: string }>`
  (SELECT 'approval' AS kind, id FROM approvals
    WHERE project_id = ANY(${projects}::text[]) AND state = 'pending' ORDER BY id DESC LIMIT ${PRESENT_NEWS})
  UNION ALL
  (SELECT 'device', device_id FROM device_shares
    WHERE project_id = ANY(${projects}::text[]) ORDER BY device_id DESC LIMIT ${PRESENT_NEWS})`

interface DeviceRow extends Lease {
  readonly id: DeviceId
  readonly last_seen_at: Date | null
  readonly owner_id: UserId
  readonly members: ReadonlyArray<UserId>
}

type Moved = { readonly project_id: ProjectId } & (
  | {
      readonly kind: "approval"
      readonly id: ApprovalId
      readonly run_id: RunId
      readonly state: ApprovalState
    }
  | { readonly kind: "task"; readonly id: TaskId; readonly state: TaskState }
  | { readonly kind: "run"; readonly id: RunId; readonly state: HubRunStatus }
)

const newsOf = (row: Moved): HubNews => {
  const projectId = row.project_id
  switch (row.kind) {
    case "approval":
      return { kind: "approval", id: row.id, runId: row.run_id, projectId, state: row.state }
    case "task":
      return { kind: "task", id: row.id, projectId, state: row.state }
    case "run":
      return { kind: "run", id: row.id, projectId, state: row.state }
  }
}
