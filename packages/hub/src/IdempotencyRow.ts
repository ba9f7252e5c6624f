/** Codec of the table `idempotency`. The schema of the request's response decodes the `body`. */
import { Schema } from "effect"
import { storedRows } from "./store/StoredRows.ts"

export const idempotencyRows = storedRows(
  "idempotency",
  Schema.Struct({ fingerprint: Schema.String, body: Schema.String })
)

/** Whether the advisory lock of a key was free. */
export const keyLockRows = storedRows("pg_locks", Schema.Struct({ taken: Schema.Boolean }))
