/** Rotation of a device's key. Later proofs need the new key; the current link stays open. */
import { deviceIdRows, type DeviceLink } from "../device/DeviceRow.ts"
import { type Conflict, SchemaValidationFailed, type Unauthorized } from "@corral/domain/errors/Failures"
import type { RequestId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { Leases } from "./Leases.ts"

export class KeyRotation extends Context.Service<
  KeyRotation,
  {
    /** The caller has checked that the new key signed the request. Repeating a rotation changes nothing. */
    readonly rotate: (
      link: DeviceLink,
      publicKey: string
    ) => Effect.Effect<void, Conflict | SchemaValidationFailed | Unauthorized | SqlError.SqlError>
  }
>()("corral/hub/KeyRotation") {
  static readonly layer = Layer.effect(
    KeyRotation,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const leases = yield* Leases

      const change = Effect.fnUntraced(function* (link: DeviceLink, publicKey: string) {
        const { deviceId, generation } = link
        const holder = yield* deviceIdRows.first(sql`SELECT id FROM devices WHERE public_key = ${publicKey}`)
        if (holder !== undefined && holder.id !== deviceId) return yield* keyRefused()
        const changed = yield* sql`
          UPDATE devices SET public_key = ${publicKey}
          WHERE id = ${deviceId} AND generation = ${generation} AND revoked_at IS NULL RETURNING id`
        if (changed.length === 0) yield* leases.requireNewest(link)
      })

      return KeyRotation.of({
        rotate: Effect.fn("KeyRotation.rotate")(function* (link, publicKey) {
          const { deviceId } = link
          const action = { action: "device.rotate" as const, resource: deviceId, projectId: null }
          yield* audit.performAs(deviceId, action, change(link, publicKey)).pipe(
            // Two devices rotated to the same key concurrently.
            Effect.catchIf(
              (error) => error instanceof SqlError.SqlError && error.reason._tag === "UniqueViolation",
              () => Effect.fail(keyRefused())
            ),
            Effect.provideServiceEffect(
              CurrentRequestId,
              Effect.sync(() => mint<RequestId>("req", clock.currentTimeMillisUnsafe()))
            )
          )
        })
      })
    })
  )
}

const keyRefused = () =>
  new SchemaValidationFailed({
    message: "A device can't use this key.",
    details: { issues: [{ path: "publicKey", message: "Expected a new key" }] }
  })
