/**
 * API keys: credentials of services and continuous integration. A key acts as the user who created it, within its scopes. A key cannot manage
 * keys, sign-ins, members or devices, and cannot decide approvals.
 */
import { Effect, Schema } from "effect"
import { ApiKeyId } from "./Ids.ts"
import { oneLine } from "../text/OneLine.ts"

/** `read` looks; `write` also changes things. */
export const ApiKeyScope = Schema.Literals(["read", "write"])
export type ApiKeyScope = typeof ApiKeyScope.Type

export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  scopes: Schema.Array(ApiKeyScope),
  createdAt: Schema.String,
  expiresAt: Schema.String,
  /** To the minute; absent where it was never used. */
  lastUsedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** A new key; its token is shown this once. */
export const IssuedApiKey = Schema.Struct({ ...ApiKey.fields, token: Schema.String }).annotate({
  identifier: "IssuedApiKey"
})
export type IssuedApiKey = typeof IssuedApiKey.Type

export const CreateApiKey = Schema.Struct({
  name: oneLine(100),
  scopes: Schema.NonEmptyArray(ApiKeyScope).check(Schema.isMaxLength(ApiKeyScope.literals.length)),
  /** Days until it is worth nothing, 1 to 366. */
  expiresInDays: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(90))
  )
}).annotate({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type
