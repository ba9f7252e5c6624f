/**
 * Approvals as the Hub mirrors them. Read only.
 *
 * Does not decide: the first valid decision wins at the Edge, and an event reports it.
 */
import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { approvalTable } from "../run/RequestTable.ts"
import { type RequestReads, requestReads } from "./RequestReads.ts"

export class Approvals extends Context.Service<
  Approvals,
  RequestReads<ApprovalId, Approval, ApprovalState>
>()("corral/hub/Approvals") {
  static readonly layer = Layer.effect(
    Approvals,
    Effect.map(SqlClient.SqlClient, (sql) => Approvals.of(requestReads(sql, approvalTable)))
  )
}
