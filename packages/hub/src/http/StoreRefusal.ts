/** Refusal for a failed statement: `overloaded` if the database is unavailable; none for a fault of the Hub. */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { SqlError } from "effect/sql"

const transientReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "LockTimeoutError",
  "SerializationError",
  "StatementTimeoutError"
])

/**
 * Classes of SQLSTATE: insufficient resources, object not in prerequisite state, operator intervention. And the limits of a transaction, which end
 * one of a Hub that was paused.
 */
const unavailableState = /^(?:53|55|57|25P03|25P04)/

const stateOf = ({ cause }: SqlError.SqlError["reason"]): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

export const storeRefusal = (defect: unknown): HttpRefusal | undefined =>
  defect instanceof SqlError.SqlError &&
  (transientReasons.has(defect.reason._tag) || unavailableState.test(stateOf(defect.reason)))
    ? { code: "overloaded" }
    : undefined
