/** Codec of the table `users`. */
import { UserId } from "@corral/domain/identity/Ids"
import type { User } from "@corral/domain/identity/User"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const UserRow = Schema.Struct({
  id: UserId,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  created_at: Timestamp
})

export const USER_COLUMNS = Object.keys(UserRow.fields).join(", ")

export const userRows = storedRows("users", UserRow)
export const userIdRows = storedRows("users", Schema.Struct({ id: UserId }))

export const userOf = ({ created_at, email, id, name }: typeof UserRow.Type): User => ({
  id,
  name,
  ...(email === null ? {} : { email }),
  createdAt: created_at.toISOString()
})
