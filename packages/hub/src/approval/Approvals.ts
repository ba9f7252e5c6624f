/**
 * Approvals as the Hub mirrors them: a row each, written by `RunLog` with the events that ask and resolve. Who decides first is the
 * Edge's to say; here is what is known of it.
 */
import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, DeviceId, ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { readableRows } from "../store/ReadableList.ts"

export interface ApprovalFilter {
  readonly projectId?: ProjectId | undefined
  readonly runId?: RunId | undefined
  readonly state?: ApprovalState | undefined
}

export class Approvals extends Context.Service<
  Approvals,
  {
    /** Looked up before anyone's right to it is known: for the check, not for the caller. */
    readonly find: (id: ApprovalId) => Effect.Effect<HubApproval | undefined, SqlError.SqlError>
    /** Oldest first, those after `after`. That `filter.projectId` may be read has been found before. */
    readonly list: (
      reader: UserId,
      filter: ApprovalFilter,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HubApproval>, SqlError.SqlError>
  }
>()("corral/hub/Approvals") {
  static readonly layer = Layer.effect(
    Approvals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Approvals.of({
        find: (id) =>
          Effect.map(
            sql<Row>`SELECT ${sql.literal(COLUMNS)} FROM approvals WHERE id = ${id}`,
            ([row]) => row && approvalOf(row)
          ),
        list: (reader, { projectId, runId, state }, after, limit) =>
          readableRows<Row>(sql, {
            table: "approvals",
            columns: COLUMNS,
            reader,
            projectId,
            conditions: [
              ...(runId === undefined ? [] : [sql`run_id = ${runId}`]),
              ...(state === undefined ? [] : [sql`state = ${state}`])
            ],
            order: "oldest",
            after,
            limit
          }).pipe(Effect.map((rows) => rows.map(approvalOf)))
      })
    })
  )
}

const COLUMNS = "id, project_id, target_id, approval"

interface Row {
  readonly project_id: ProjectId
  readonly target_id: DeviceId
  readonly approval: string
}

const approvalOf = ({ approval, project_id, target_id }: Row): HubApproval => ({
  // Written by `RunLog`.
  ...(JSON.parse(approval) as Approval),
  projectId: project_id,
  targetId: target_id
})
