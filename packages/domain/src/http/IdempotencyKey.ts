/**
 * The idempotency key of writes that a caller may retry. The answer to the first request with a key is kept for 24 hours and given again,
 * with `Idempotency-Replayed: true`, to the same request; another request with that key is a conflict.
 */
import { Schema } from "effect"

/** 1 to 255 printable ASCII characters. */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[ -~]{1,255}$/u, { expected: "1 to 255 printable characters" })
)

/** The request headers of such a write. */
export const idempotencyHeaders = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }
