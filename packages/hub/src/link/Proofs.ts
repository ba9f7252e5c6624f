/**
 * How a device proves that it is one: with its Ed25519 key it signs a challenge that was made for this one socket and is worth something once.
 *
 * Whatever is wrong with a proof is refused by the same sentence: nobody learns which devices there are.
 */
import { challengeText, PROVE_WITHIN_SECONDS } from "@corral/domain/link/EdgeLink"
import { Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createPublicKey, randomBytes, verify } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { RateLimit } from "@corral/service/http/RateLimit"

/** What one socket was asked to sign, and by which device. */
export interface Challenge {
  readonly text: string
  readonly deviceId: DeviceId
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** 256 bits, for `deviceId` on this socket. */
export const newChallenge = (deviceId: DeviceId, now: number): Challenge => ({
  text: randomBytes(32).toString("base64url"),
  deviceId,
  expiresAt: now + PROVE_WITHIN_SECONDS * 1_000
})

/** 64 bytes as base64url, in its one spelling. */
const signatureShape = /^[A-Za-z0-9_-]{85}[AQgw]$/

/** Whether that Ed25519 key, 32 bytes as base64url, has signed the text. */
export const hasSigned = (publicKey: string, text: string, signature: string): boolean => {
  if (!signatureShape.test(signature)) return false
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" })
    return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"))
  } catch {
    // No point of the curve.
    return false
  }
}

export interface ProofAttempt {
  readonly deviceId: DeviceId
  /** The Hub's public URL, as it was told to the device. */
  readonly hub: string
  /** The one that the socket holds, which it does not from now on. */
  readonly expected: Challenge | undefined
  readonly challenge: string
  readonly signature: string
}

export class Proofs extends Context.Service<
  Proofs,
  {
    /** The key that the proof was made with. A refusal of a device that there is goes to the audit, at most once a minute. */
    readonly check: (proving: ProofAttempt) => Effect.Effect<string, Unauthorized | SqlError.SqlError>
  }
>()("corral/hub/Proofs") {
  static readonly layer = Layer.effect(
    Proofs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const audited = new RateLimit(1, now, 60_000)

      const refused = Effect.fnUntraced(function* (deviceId: DeviceId) {
        if (!audited.take(deviceId)) return
        yield* audit.record({
          action: "device.connect",
          resource: deviceId,
          projectId: null,
          actor: deviceId,
          outcome: "denied",
          code: "unauthorized",
          requestId: mint<RequestId>("req", now())
        })
      })

      return Proofs.of({
        check: Effect.fnUntraced(function* ({ challenge, deviceId, expected, hub, signature }) {
          const fits =
            expected !== undefined &&
            expected.text === challenge &&
            expected.deviceId === deviceId &&
            expected.expiresAt >= now()
          const [row] = yield* sql<{ readonly public_key: string; readonly usable: boolean }>`
            SELECT public_key, revoked_at IS NULL AND kind = 'edge' AS usable FROM devices WHERE id = ${deviceId}`
          if (row === undefined) return yield* invalidDeviceProof()
          if (
            fits &&
            row.usable &&
            hasSigned(row.public_key, challengeText({ hub, deviceId, challenge }), signature)
          )
            return row.public_key
          yield* refused(deviceId)
          return yield* invalidDeviceProof()
        })
      })
    })
  )
}

/** The sentence for all that is wrong with a device. */
export const invalidDeviceProof = () =>
  new Unauthorized({ message: "This is no proof of a device of this Hub." })
