/** Codec of the table `join_tokens`. */
import { UserId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { storedRows } from "../store/StoredRows.ts"

export const joinTokenRows = storedRows("join_tokens", Schema.Struct({ owner_id: UserId }))
