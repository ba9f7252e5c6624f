/**
 * How a device comes to a Hub: registered by its owner, or with a join token that the owner made for it.
 *
 * A join token registers one device, within an hour, as its maker's; only its hash is kept. A public key names one device.
 */
import {
  type Device,
  type JoinToken,
  MAX_JOIN_SECONDS,
  type RegisterDevice
} from "@corral/domain/device/Device"
import { Conflict, Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hashOf, newToken, purposeOf } from "../signin/SessionToken.ts"

export class DeviceRegistration extends Context.Service<
  DeviceRegistration,
  {
    readonly createJoinToken: (
      owner: UserId,
      seconds: number | undefined
    ) => Effect.Effect<JoinToken, SqlError.SqlError>
    /** Who made that token, be it used or over: of somebody who asks again for what they asked before. */
    readonly findJoinTokenOwner: (token: string) => Effect.Effect<UserId | undefined, SqlError.SqlError>
    /** With a token, uses it up; a device that is refused leaves it as it was where this is in a transaction. */
    readonly register: (
      owner: UserId,
      device: RegisterDevice
    ) => Effect.Effect<Device, Conflict | Unauthorized | SqlError.SqlError>
  }
>()("corral/hub/DeviceRegistration") {
  static readonly layer = Layer.effect(
    DeviceRegistration,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const use = Effect.fnUntraced(function* (token: string, owner: UserId, at: Date) {
        const used = yield* sql`
          UPDATE join_tokens SET used_at = ${at}
          WHERE token_hash = ${hashOf(token)} AND owner_id = ${owner} AND used_at IS NULL AND expires_at > ${at}
          RETURNING 1`
        if (used.length === 0) return yield* new Unauthorized({ message: "This join token is used or over." })
      })

      return DeviceRegistration.of({
        createJoinToken: Effect.fnUntraced(function* (owner, seconds = MAX_JOIN_SECONDS) {
          const now = clock.currentTimeMillisUnsafe()
          const token = newToken("join")
          const expiresAt = new Date(now + seconds * 1_000)
          // Kept for a day after its end, as answers to keyed requests are.
          yield* sql`DELETE FROM join_tokens WHERE expires_at < ${new Date(now - 86_400_000)}`
          yield* sql`INSERT INTO join_tokens ${sql.insert({ token_hash: hashOf(token), owner_id: owner, expires_at: expiresAt })}`
          return { token, expiresAt: expiresAt.toISOString() }
        }),

        findJoinTokenOwner: Effect.fnUntraced(function* (token) {
          if (purposeOf(token) !== "join") return undefined
          const [row] = yield* sql<{ readonly owner_id: UserId }>`
            SELECT owner_id FROM join_tokens WHERE token_hash = ${hashOf(token)}`
          return row?.owner_id
        }),

        register: Effect.fnUntraced(function* (owner, { joinToken, kind, name, publicKey }) {
          const at = new Date(clock.currentTimeMillisUnsafe())
          if (joinToken !== undefined) yield* use(joinToken, owner, at)
          const id = mint<DeviceId>("dev", at.getTime())
          const row = { id, owner_id: owner, name, kind, public_key: publicKey, created_at: at }
          const made = yield* sql`
            INSERT INTO devices ${sql.insert(row)} ON CONFLICT (public_key) DO NOTHING RETURNING id`
          if (made.length === 0)
            return yield* new Conflict({ message: "A device with this key is registered already." })
          return {
            id,
            name,
            kind,
            state: "offline" as const,
            ownerId: owner,
            sharedWith: [],
            publicKey,
            createdAt: at.toISOString()
          }
        })
      })
    })
  )
}
