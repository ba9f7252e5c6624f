/** What a statement that failed comes to: `overloaded` where the database is not there for now, nothing where the fault is ours. */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { SqlError } from "effect/sql"

const passing: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "LockTimeoutError",
  "SerializationError",
  "StatementTimeoutError"
])

/** Classes of SQLSTATE: out of resources, not in the state for it, stopped by its operator. */
const away = /^(53|55|57)/

const stateOf = ({ cause }: SqlError.SqlError["reason"]): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

export const storeRefusal = (defect: unknown): HttpRefusal | undefined =>
  defect instanceof SqlError.SqlError &&
  (passing.has(defect.reason._tag) || away.test(stateOf(defect.reason)))
    ? { code: "overloaded" }
    : undefined
