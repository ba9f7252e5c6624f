/** Refusal for a failed statement: `overloaded` if the database is unavailable; none for a fault of the Hub. */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { SqlError } from "effect/sql"

/**
 * Classes of SQLSTATE: connection exception, transaction rollback, insufficient resources, object not in prerequisite state, operator intervention. And a
 * server that takes no writes, and the limits of a transaction, which end one of a Hub that was paused.
 */
const unavailableState = /^(?:08|40|53|55|57|25006|25P03|25P04)/

const stateOf = ({ cause }: SqlError.SqlError["reason"]): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

export const storeRefusal = (defect: unknown): HttpRefusal | undefined =>
  defect instanceof SqlError.SqlError &&
  // A connection that is gone has no state.
  (defect.reason._tag === "ConnectionError" || unavailableState.test(stateOf(defect.reason)))
    ? { code: "overloaded" }
    : undefined
