/**
 * Registration of devices: by their owner, or with a join token that the owner created.
 *
 * Guarantees: a join token registers one device for its owner within an hour, and only its hash is stored. A public key belongs to one device.
 */
import {
  type Device,
  type JoinToken,
  MAX_JOIN_SECONDS,
  type RegisterDevice
} from "@corral/domain/device/Device"
import { Conflict, Unauthorized } from "@corral/domain/errors/Failures"
import { type DeviceId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { newToken, purposeOf, tokenHash } from "../signin/SessionToken.ts"
import { storedRows } from "../store/StoredRows.ts"

const joinTokenRows = storedRows("join_tokens", Schema.Struct({ owner_id: UserId }))

export class DeviceRegistration extends Context.Service<
  DeviceRegistration,
  {
    readonly createJoinToken: (
      owner: UserId,
      seconds: number | undefined
    ) => Effect.Effect<JoinToken, SqlError.SqlError>
    /** Owner of the token, also after its use or expiry, so that a repeated request finds its owner. */
    readonly findJoinTokenOwner: (token: string) => Effect.Effect<UserId | undefined, SqlError.SqlError>
    /** Uses up the token. Run it in a transaction, so that a refused device does not use up its token. */
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

      const useToken = Effect.fnUntraced(function* (token: string, owner: UserId, at: Date) {
        const used = yield* sql`
          UPDATE join_tokens SET used_at = ${at}
          WHERE token_hash = ${tokenHash(token)} AND owner_id = ${owner} AND used_at IS NULL AND expires_at > ${at}
          RETURNING 1`
        if (used.length === 0)
          return yield* new Unauthorized({ message: "This join token was used or has expired." })
      })

      return DeviceRegistration.of({
        createJoinToken: Effect.fn("DeviceRegistration.createJoinToken")(function* (
          owner,
          seconds = MAX_JOIN_SECONDS
        ) {
          const now = clock.currentTimeMillisUnsafe()
          const token = newToken("join")
          const expiresAt = new Date(now + seconds * 1_000)
          // Stored for a day after expiry, like responses to requests with an idempotency key.
          yield* sql`DELETE FROM join_tokens WHERE expires_at < ${new Date(now - 86_400_000)}`
          yield* sql`INSERT INTO join_tokens ${sql.insert({ token_hash: tokenHash(token), owner_id: owner, expires_at: expiresAt })}`
          return { token, expiresAt: expiresAt.toISOString() }
        }),

        findJoinTokenOwner: Effect.fn("DeviceRegistration.findJoinTokenOwner")(function* (token) {
          if (purposeOf(token) !== "join") return undefined
          const row = yield* joinTokenRows.first(
            sql`SELECT owner_id FROM join_tokens WHERE token_hash = ${tokenHash(token)}`
          )
          return row?.owner_id
        }),

        register: Effect.fn("DeviceRegistration.register")(function* (
          owner,
          { joinToken, kind, name, publicKey }
        ) {
          const at = new Date(clock.currentTimeMillisUnsafe())
          if (joinToken !== undefined) yield* useToken(joinToken, owner, at)
          const id = mint<DeviceId>("dev", at.getTime())
          const row = { id, owner_id: owner, name, kind, public_key: publicKey, created_at: at }
          const inserted = yield* sql`
            INSERT INTO devices ${sql.insert(row)} ON CONFLICT (public_key) DO NOTHING RETURNING id`
          if (inserted.length === 0)
            return yield* new Conflict({ message: "A device with this key is already registered." })
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
