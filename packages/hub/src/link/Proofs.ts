/**
 * Proofs of devices. A device signs a challenge with its Ed25519 key. A challenge belongs to one socket and is valid once.
 *
 * Guarantees: every invalid proof gets the same response, so a caller can't find out which devices exist.
 */
import { challengeText, PROVE_WITHIN_SECONDS } from "@corral/domain/link/EdgeLink"
import { Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { randomBytes, verify } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { deviceKeyRows, type LinkHolderRow } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { PlannedSql } from "../store/Database.ts"

/** Text that one device must sign on one socket. */
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

/** 64 bytes as canonical base64url. */
const signatureShape = /^[A-Za-z0-9_-]{85}[AQgw]$/

/** Whether the Ed25519 key, 32 bytes as base64url, signed the text. */
export const hasSigned = (publicKey: string, text: string, signature: string): boolean => {
  if (!signatureShape.test(signature)) return false
  try {
    const key = { kty: "OKP", crv: "Ed25519", x: publicKey }
    return verify(null, Buffer.from(text), { key, format: "jwk" }, Buffer.from(signature, "base64url"))
  } catch {
    // Not a point of the curve.
    return false
  }
}

export interface ProofAttempt {
  readonly deviceId: DeviceId
  /** The Hub's public URL as the device knows it. */
  readonly hub: string
  /** Challenge of the socket. The caller has invalidated it. */
  readonly expected: Challenge | undefined
  readonly challenge: string
  readonly signature: string
}

/** A device as the check of its proof has read it. */
export interface ProvedDevice {
  /** The key that signed. */
  readonly publicKey: string
  readonly generation: number
  readonly holder: LinkHolderRow
}

export class Proofs extends Context.Service<
  Proofs,
  {
    /** Returns the device whose key signed. A refused proof of an existing device is audited, at most once a minute. */
    readonly check: (attempt: ProofAttempt) => Effect.Effect<ProvedDevice, Unauthorized | SqlError.SqlError>
  }
>()("corral/hub/Proofs") {
  static readonly layer = Layer.effect(
    Proofs,
    Effect.gen(function* () {
      const sql = yield* PlannedSql
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const audited = new RequestRateLimit(1, now, 60_000)
      const devices = yield* Gathered.make({
        answer: (ids: ReadonlyArray<DeviceId>) => findDevices(sql, ids)
      })

      const auditRefusal = Effect.fnUntraced(function* (deviceId: DeviceId) {
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
        check: Effect.fn("Proofs.check")(function* ({ challenge, deviceId, expected, hub, signature }) {
          const isCurrent =
            expected !== undefined &&
            expected.text === challenge &&
            expected.deviceId === deviceId &&
            expected.expiresAt >= now()
          const row = yield* devices.ask(deviceId)
          if (row === undefined) return yield* invalidDeviceProof()
          if (
            isCurrent &&
            row.usable &&
            hasSigned(row.public_key, challengeText({ hub, deviceId, challenge }), signature)
          )
            return { publicKey: row.public_key, generation: row.generation, holder: row }
          yield* auditRefusal(deviceId)
          return yield* invalidDeviceProof()
        })
      })
    })
  )
}

const findDevices = Effect.fn("Proofs.findDevices")(function* (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<DeviceId>
) {
  const rows = yield* deviceKeyRows.all(sql`
    SELECT id, public_key, revoked_at IS NULL AND kind = 'edge' AS usable, generation::int AS generation,
      instance_id, fenced_instances, lease_until, flapped_at
    FROM devices WHERE id = ANY(${ids}::text[])`)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
})

/** The response to every invalid proof. */
export const invalidDeviceProof = () =>
  new Unauthorized({ message: "Not a valid proof of a device on this Hub." })
