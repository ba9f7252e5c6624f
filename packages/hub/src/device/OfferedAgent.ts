/** An agent of a device's last offer, and why it can't have a budget. */
import { findAgent } from "@corral/domain/offer/Offer"
import { Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { AgentId, DeviceId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import { type Budget, uncountedLimits, uncountedMessage } from "@corral/domain/run/Budget"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { offerColumns } from "./DeviceRow.ts"

const agentRows = storedRows("devices", Schema.Struct({ agents: Schema.NullOr(offerColumns.agents) }))

/** `undefined` if the device does not offer it. */
export const findOfferedAgent = (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  agentId: AgentId
): Effect.Effect<Agent | undefined, SqlError.SqlError> =>
  Effect.map(agentRows.first(sql`SELECT agents FROM devices WHERE id = ${targetId}`), (row) =>
    findAgent(row?.agents ?? undefined, agentId)
  )

/** `undefined` if the agent can have the budget. Early versions of the Edge do not say what their agents count. */
export const findBudgetRefusal = (
  { counts, label }: Pick<Agent, "counts" | "label">,
  budget: Budget | undefined
): Conflict | SchemaValidationFailed | undefined => {
  const [limit] = uncountedLimits(budget, counts ?? [])
  if (limit === undefined) return undefined
  const issue = { path: `budget.${limit}`, message: uncountedMessage(label, limit) }
  return counts === undefined
    ? new Conflict({
        message: "The Edge of this device is too old to limit tokens or turns. Update it.",
        details: { reason: "edge_outdated" }
      })
    : new SchemaValidationFailed({ details: { issues: [issue] } })
}
