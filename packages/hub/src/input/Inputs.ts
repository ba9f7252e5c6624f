/**
 * Questions, forms and plans as the Hub mirrors them. Read only, except for the record of who approves a plan.
 *
 * Does not answer: the first valid answer wins at the Edge, and an event reports it.
 */
import type { InputRequestId, UserId } from "@corral/domain/identity/Ids"
import type { AnswerIssue } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, InputRequest, InputState } from "@corral/domain/input/InputRequest"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type RequestReads, requestReads } from "../approval/RequestReads.ts"
import { inputTable } from "../run/RequestTable.ts"
import { findPlanModeIssues } from "./PlanModes.ts"
import { type PlanApproval, recordPlanApproval } from "../run/PlanApproval.ts"

interface InputReads extends RequestReads<InputRequestId, InputRequest, InputState> {
  /** Records an approval before it is sent: the message that continues the work is written only for users who have approved here. */
  readonly recordApproval: (
    id: InputRequestId,
    userId: UserId,
    approval: PlanApproval
  ) => Effect.Effect<void, SqlError.SqlError>
  /** What does not fit in an approval by the last offer of the run's device. */
  readonly findPlanModeIssues: (
    input: InputRequest,
    answer: InputAnswer
  ) => Effect.Effect<ReadonlyArray<AnswerIssue>, SqlError.SqlError>
}

export class Inputs extends Context.Service<Inputs, InputReads>()("corral/hub/Inputs") {
  static readonly layer = Layer.effect(
    Inputs,
    Effect.map(SqlClient.SqlClient, (sql) =>
      Inputs.of({
        ...requestReads(sql, inputTable),
        recordApproval: (id, userId, approval) => recordPlanApproval(sql, id, userId, approval),
        findPlanModeIssues: (input, answer) => findPlanModeIssues(sql, input, answer)
      })
    )
  )
}
