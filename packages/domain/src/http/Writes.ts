/**
 * Writes: responses of endpoints that create a resource, and idempotency keys of requests that a caller may retry.
 *
 * The response to the first request with a key is stored for 24 hours. The same request with the key receives that response again, with
 * `Idempotency-Replayed: true`. Another request with the key is a conflict.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** Response with status 201. */
export const createdResponse = HttpApiSchema.status(201)

/** Response with status 201 and the resource's address in `Location`. */
export const createdWithLocation = <A extends Schema.Top>(resource: A) =>
  HttpApiSchema.WithHeaders(resource.pipe(createdResponse), { location: Schema.String })

/** 1 to 255 printable ASCII characters. */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[ -~]{1,255}$/u, { expected: "1 to 255 printable characters" })
)

/** Request headers of a write that a caller may retry. */
export const idempotencyHeaders = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }
