/**
 * API keys: credentials of services and continuous integration. A key acts as the user who created it, within its scopes. A key cannot manage
 * keys, sign-ins, members or devices, and cannot decide approvals, answer questions or finish runs.
 */
import { Effect, Schema } from "effect"
import { ApiKeyId } from "./Ids.ts"
import { oneLine } from "../text/Text.ts"

/** Scope of an API key. `read` allows reads, `write` allows changes. */
export const ApiKeyScope = Schema.Literals(["read", "write"])
export type ApiKeyScope = typeof ApiKeyScope.Type

/** An API key without its token. Times are ISO 8601. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  scopes: Schema.Array(ApiKeyScope),
  createdAt: Schema.String,
  expiresAt: Schema.String,
  /** Rounded to the minute. Absent if the key was never used. */
  lastUsedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** A new API key with its token. Only this response contains the token. */
export const IssuedApiKey = Schema.Struct({ ...ApiKey.fields, token: Schema.String }).annotate({
  identifier: "IssuedApiKey"
})
export type IssuedApiKey = typeof IssuedApiKey.Type

/** Body of POST /client/auth/keys. */
export const CreateApiKey = Schema.Struct({
  name: oneLine(100),
  scopes: Schema.NonEmptyArray(ApiKeyScope).check(Schema.isMaxLength(ApiKeyScope.literals.length)),
  /** Lifetime in days: 1 to 366, 90 by default. */
  expiresInDays: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(90))
  )
}).annotate({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type
