/** Workspaces of targets that a project may use, oldest link first. Deleting the project or the target deletes the link. */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, type PermissionDenied } from "@corral/domain/errors/Failures"
import type { DeviceId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Inventory } from "../device/Inventory.ts"
import { limitTo } from "../store/Limit.ts"
import { decodeSeq } from "../store/Position.ts"
import { lockProject } from "./ProjectLock.ts"

/** A link with its position in the list. */
export interface PlacedLink extends WorkspaceLink {
  readonly place: string
}

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

      return WorkspaceLinks.of({
        list: ({ subject }, after, limit) =>
          sql<LinkedWorkspaceRow>`
            SELECT seq::text AS seq, target_id, workspace, added_by, added_at FROM workspace_links
            WHERE project_id = ${subject} AND seq > ${after === undefined ? 0 : decodeSeq(after, Number.MAX_SAFE_INTEGER)} ORDER BY workspace_links.seq ${limitTo(sql, limit)}`.pipe(
            Effect.map((rows) => rows.map(placedOf))
          ),

        add: (proof, target, workspace) =>
          sql.withTransaction(
            Effect.gen(function* () {
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
              const [inserted] = yield* sql<LinkedWorkspaceRow>`
                INSERT INTO workspace_links ${sql.insert(row)} ON CONFLICT DO NOTHING
                RETURNING seq::text AS seq, target_id, workspace, added_by, added_at`
              if (inserted === undefined)
                return yield* new Conflict({ message: "This workspace is already linked." })
              return linkOf(placedOf(inserted))
            })
          ),

        has: ({ subject }, targetId, workspace) =>
          Effect.map(
            sql`
              SELECT 1 FROM workspace_links
              WHERE project_id = ${subject} AND target_id = ${targetId} AND workspace = ${workspace} AND md5(workspace) = md5(${workspace})`,
            ({ length }) => length > 0
          ),

        remove: ({ subject }, targetId, workspace) =>
          Effect.asVoid(sql`
            DELETE FROM workspace_links
            WHERE project_id = ${subject} AND target_id = ${targetId} AND workspace = ${workspace}`)
      })
    })
  )
}

interface LinkedWorkspaceRow {
  readonly seq: string
  readonly target_id: DeviceId
  readonly workspace: WorkspaceId
  readonly added_by: UserId
  readonly added_at: Date
}

const placedOf = ({ added_at, added_by, seq, target_id, workspace }: LinkedWorkspaceRow): PlacedLink => ({
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
