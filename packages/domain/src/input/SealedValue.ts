/**
 * Sealed value: a secret answer, encrypted for the Edge that runs the agent. ECDH on P-256 with a fresh key of the sender, HKDF-SHA-256 with
 * the request's id as `info`, and AES-256-GCM. All fields are base64url.
 */
import { Schema } from "effect"

const field = Schema.String.check(Schema.isMaxLength(131_072), Schema.isPattern(/^[A-Za-z0-9_-]+$/u))

export const SealedValue = Schema.Struct({
  sealed: Schema.Struct({
    /** The sender's public key: an uncompressed P-256 point. */
    key: field,
    iv: field,
    /** Ciphertext and tag. */
    data: field
  })
}).annotate({ identifier: "SealedValue" })
export type SealedValue = typeof SealedValue.Type
