/** Codec of the table `device_codes`. */
import { UserId } from "@corral/domain/identity/Ids"
import { SignInKind } from "@corral/domain/identity/User"
import { Schema, Struct } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const columns = {
  /** Kind of the program: not a browser. */
  kind: Schema.Literals(SignInKind.literals.filter((kind) => kind !== "web")),
  client_name: Schema.NullOr(Schema.String),
  /** Seconds between two polls. */
  interval_s: Schema.Int,
  asked_at: Schema.NullOr(Timestamp),
  decision: Schema.NullOr(Schema.Literals(["allow", "deny"])),
  user_id: Schema.NullOr(UserId),
  created_at: Timestamp
}

export const deviceCodeRows = storedRows("device_codes", Schema.Struct(Struct.omit(columns, ["created_at"])))
export const waitingCodeRows = storedRows(
  "device_codes",
  Schema.Struct(Struct.pick(columns, ["kind", "client_name", "created_at"]))
)
