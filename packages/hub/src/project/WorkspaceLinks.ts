/** Workspaces of targets that a project may use, oldest link first. Deleting the project or the target deletes the link. */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, type PermissionDenied } from "@corral/domain/errors/Failures"
import { DeviceId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Inventory } from "../device/Inventory.ts"
import { decodeSeq, limitTo } from "../store/ListPage.ts"
import { lockProject } from "./ProjectRow.ts"
import { Timestamp, storedRows } from "../store/StoredRows.ts"

// Codec of the table `workspace_links`.

const WorkspaceLinkRow = Schema.Struct({
  /** A `bigint`, as text. */
  seq: Schema.String,
  target_id: DeviceId,
  workspace: WorkspaceId,
  added_by: UserId,
  added_at: Timestamp
})

export const WORKSPACE_LINK_COLUMNS = "seq::text AS seq, target_id, workspace, added_by, added_at"

export const workspaceLinkRows = storedRows("workspace_links", WorkspaceLinkRow)

/** A link with its position in the list. */
export interface PlacedLink extends WorkspaceLink {
  readonly place: string
}

export const placedLinkOf = ({
  added_at,
  added_by,
  seq,
  target_id,
  workspace
}: typeof WorkspaceLinkRow.Type): PlacedLink => ({
  place: seq,
  targetId: target_id,
  workspace,
  addedBy: added_by,
  addedAt: added_at.toISOString()
})

/** The link without its position. */
export const linkOf = ({ addedAt, addedBy, targetId, workspace }: PlacedLink): WorkspaceLink => ({
  targetId,
  workspace,
  addedBy,
  addedAt
})

export class WorkspaceLinks extends Context.Service<
  WorkspaceLinks,
  {
    readonly list: (
      proof: Proof<"project.read">,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PlacedLink>, SqlError.SqlError>
    /** Links a workspace that the target has reported. */
    readonly add: (
      proof: Proof<"project.update">,
      target: Proof<"task.route">,
      workspace: WorkspaceId
    ) => Effect.Effect<WorkspaceLink, Conflict | PermissionDenied | SqlError.SqlError>
    /** Whether the project may use a workspace of a target. */
    readonly has: (
      proof: Proof<"task.create">,
      targetId: DeviceId,
      workspace: WorkspaceId
    ) => Effect.Effect<boolean, SqlError.SqlError>
    readonly remove: (
      proof: Proof<"project.update">,
      targetId: DeviceId,
      workspace: WorkspaceId
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/WorkspaceLinks") {
  static readonly layer = Layer.effect(
    WorkspaceLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const inventory = yield* Inventory
      const columns = sql.literal(WORKSPACE_LINK_COLUMNS)

      return WorkspaceLinks.of({
        list: Effect.fnUntraced(function* ({ subject }, after, limit) {
          const afterSeq = after === undefined ? 0 : decodeSeq(after, Number.MAX_SAFE_INTEGER)
          const rows = yield* workspaceLinkRows.all(sql`
            SELECT ${columns} FROM workspace_links WHERE project_id = ${subject} AND seq > ${afterSeq}
            ORDER BY workspace_links.seq ${limitTo(sql, limit)}`)
          return rows.map(placedLinkOf)
        }),

        add: Effect.fn("WorkspaceLinks.add")(function* (proof, target, workspace) {
          const { workspaces } = yield* inventory.offerOf(target)
          if (!workspaces.some(({ id }) => id === workspace))
            return yield* new Conflict({ message: "The target has not reported this workspace." })
          yield* lockProject(sql, proof.subject)
          const row = {
            project_id: proof.subject,
            target_id: target.subject,
            workspace,
            added_by: proof.principal,
            added_at: new Date(clock.currentTimeMillisUnsafe())
          }
          const inserted = yield* workspaceLinkRows.first(sql`
            INSERT INTO workspace_links ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING ${columns}`)
          if (inserted === undefined)
            return yield* new Conflict({ message: "This workspace is already linked." })
          return linkOf(placedLinkOf(inserted))
        }, sql.withTransaction),

        has: Effect.fn("WorkspaceLinks.has")(function* ({ subject }, targetId, workspace) {
          const found = yield* sql`
            SELECT 1 FROM workspace_links
            WHERE project_id = ${subject} AND target_id = ${targetId} AND workspace = ${workspace} AND md5(workspace) = md5(${workspace})`
          return found.length > 0
        }),

        remove: Effect.fn("WorkspaceLinks.remove")(function* ({ subject }, targetId, workspace) {
          yield* sql`
            DELETE FROM workspace_links
            WHERE project_id = ${subject} AND target_id = ${targetId} AND workspace = ${workspace}`
        })
      })
    })
  )
}
