/** Codec of the table `login_attempts`. */
import { Schema } from "effect"
import { storedRows } from "../store/StoredRows.ts"

export const loginAttemptRows = storedRows(
  "login_attempts",
  Schema.Struct({
    nonce: Schema.String,
    verifier: Schema.String,
    return_to: Schema.String,
    max_age_s: Schema.NullOr(Schema.Number)
  })
)
