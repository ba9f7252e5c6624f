/** Codec of the table `api_keys`. */
import { type ApiKey, ApiKeyScope } from "@corral/domain/identity/ApiKey"
import { ApiKeyId, UserId } from "@corral/domain/identity/Ids"
import { Schema, SchemaTransformation } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

/** Scopes, separated by spaces. */
const Scopes = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(" "),
      encode: (scopes) => scopes.join(" ")
    })
  ),
  Schema.decodeTo(Schema.Array(ApiKeyScope))
)

const ApiKeyRow = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  scopes: Scopes,
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: Schema.NullOr(Timestamp)
})

export const API_KEY_COLUMNS = Object.keys(ApiKeyRow.fields).join(", ")

export const apiKeyRows = storedRows("api_keys", ApiKeyRow)
export const ownedApiKeyRows = storedRows("api_keys", Schema.Struct({ ...ApiKeyRow.fields, user_id: UserId }))
export const apiKeyCountRows = storedRows("api_keys", Schema.Struct({ count: Schema.Int }))

export const apiKeyOf = ({
  created_at,
  expires_at,
  id,
  last_used_at,
  name,
  scopes
}: typeof ApiKeyRow.Type): ApiKey => ({
  id,
  name,
  scopes,
  createdAt: created_at.toISOString(),
  expiresAt: expires_at.toISOString(),
  ...(last_used_at === null ? {} : { lastUsedAt: last_used_at.toISOString() })
})
