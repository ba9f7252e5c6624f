/**
 * Which link speaks for a device, and until when the device counts as present.
 *
 * A link that is taken has a higher generation than all before it, and fences them: what they do fails, on whichever Hub they are. Presence is a
 * lease that heartbeats renew. It does not know sockets; it tells Hubs of every change by the notice `presence`.
 */
import type { DeviceLink } from "../edges/DeviceLink.ts"
import { OFFLINE_AFTER_SECONDS } from "@corral/domain/device/Device"
import { Conflict, type Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { channels, notify } from "../store/Notice.ts"
import type { EncodedOffer } from "./EncodedOffer.ts"
import { invalidDeviceProof } from "./Proofs.ts"

/** What a proof brings along. */
export interface LeaseRequest {
  readonly deviceId: DeviceId
  /** The key of the proof: a device that has rotated it since is not this one. */
  readonly publicKey: string
  /** Which start of the Edge. */
  readonly instanceId: string
  /** Names the connection in the device's row. */
  readonly connectionId: string
  readonly offer: EncodedOffer
}

type Lost = Conflict | Unauthorized

export class Leases extends Context.Service<
  Leases,
  {
    /** Takes the device's link from whoever has it. `conflict`: two Edges take it from each other with one key, again within a minute. */
    readonly acquire: (taking: LeaseRequest) => Effect.Effect<DeviceLink, Lost | SqlError.SqlError>
    /** That the link is the device's newest, and stays it for the transaction that this is part of. */
    readonly requireNewest: (link: DeviceLink) => Effect.Effect<void, Lost | SqlError.SqlError>
    /** Runs `self` in a transaction during which the link stays the device's newest. */
    readonly withNewest: <A, E, R>(
      link: DeviceLink,
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | Lost | SqlError.SqlError, R>
    /** The device is there. */
    readonly renew: (link: DeviceLink) => Effect.Effect<void, Lost | SqlError.SqlError>
    /** What it offers now. */
    readonly offer: (link: DeviceLink, offer: EncodedOffer) => Effect.Effect<void, Lost | SqlError.SqlError>
    /** It has gone, and said so. Nothing where another link has been taken since. */
    readonly release: (link: DeviceLink) => Effect.Effect<void, SqlError.SqlError>
    /** Of those links, the ones that are not their devices' any more, and why. */
    readonly findLost: (
      links: ReadonlyArray<DeviceLink>
    ) => Effect.Effect<ReadonlyMap<DeviceId, "fenced" | "ended">, SqlError.SqlError>
  }
>()("corral/hub/Leases") {
  static readonly layer = Layer.effect(
    Leases,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const leaseEnd = () => new Date(now() + OFFLINE_AFTER_SECONDS * 1_000)

      const stands = Effect.fnUntraced(function* ({ deviceId, generation }: DeviceLink) {
        const [row] = yield* sql<{ readonly generation: number; readonly revoked: boolean }>`
          SELECT generation::int AS generation, revoked_at IS NOT NULL AS revoked
          FROM devices WHERE id = ${deviceId} FOR SHARE`
        if (row === undefined || row.revoked) return yield* invalidDeviceProof()
        if (row.generation !== generation) return yield* linkFenced()
      })

      const within = <A, E, R>(link: DeviceLink, self: Effect.Effect<A, E, R>) =>
        sql.withTransaction(Effect.andThen(stands(link), self))

      const flapping = Effect.fnUntraced(function* (deviceId: DeviceId) {
        yield* Effect.logWarning("two Edges use one device's key, and take its link from each other", {
          deviceId
        })
        yield* audit.record({
          action: "device.flapping",
          resource: deviceId,
          projectId: null,
          actor: deviceId,
          outcome: "failed",
          code: "conflict",
          requestId: mint<RequestId>("req", now())
        })
      })

      const take = Effect.fnUntraced(function* ({
        connectionId,
        deviceId,
        instanceId,
        offer,
        publicKey
      }: LeaseRequest) {
        const [row] = yield* sql<Row>`
          SELECT instance_id, fenced_instances, lease_until, flapped_at FROM devices
          WHERE id = ${deviceId} AND public_key = ${publicKey} AND revoked_at IS NULL FOR NO KEY UPDATE`
        if (row === undefined) return yield* invalidDeviceProof()
        const at = now()
        const living = (row.lease_until?.getTime() ?? 0) > at && row.instance_id !== instanceId
        const robbed = living ? row.instance_id : null
        // It was fenced, and lives: so does the one that has fenced it.
        const flaps = robbed !== null && row.fenced_instances.includes(instanceId)
        if (flaps && (row.flapped_at?.getTime() ?? 0) > at - FLAPS_ONCE_MS)
          return yield* new Conflict({ message: "Another Edge uses this device's key." })
        const others = row.fenced_instances.filter((id) => id !== instanceId && id !== robbed)
        const fencedNow = [...others, ...(robbed === null ? [] : [robbed])].slice(-FENCED_KEPT)
        const [taken] = yield* sql<{ readonly generation: number }>`
          UPDATE devices SET generation = generation + 1, instance_id = ${instanceId}, connection_id = ${connectionId},
            fenced_instances = ${fencedNow}::text[], flapped_at = ${flaps ? new Date(at) : row.flapped_at},
            lease_until = ${leaseEnd()}, last_seen_at = ${new Date(at)},
            version = ${offer.version}, workspaces = ${offer.workspaces}, agents = ${offer.agents}, commands = ${offer.commands}
          WHERE id = ${deviceId} RETURNING generation::int AS generation`
        if (taken === undefined) return yield* invalidDeviceProof()
        if (flaps) yield* flapping(deviceId)
        yield* notify(sql, "presence", deviceId)
        return { deviceId, generation: taken.generation }
      })

      const sweep = Effect.suspend(
        () => sql`
          WITH gone AS (
            UPDATE devices SET lease_until = NULL
            WHERE lease_until <= ${new Date(now())} AND revoked_at IS NULL RETURNING id
          ) SELECT pg_notify(${channels.presence}, id) FROM gone`
      )
      yield* sweep.pipe(
        Effect.catch((error) => Effect.logWarning("leases that are over are still there", error)),
        Effect.repeat(Schedule.spaced("5 seconds")),
        Effect.forkScoped
      )

      return Leases.of({
        acquire: (taking) => sql.withTransaction(take(taking)),
        requireNewest: stands,
        withNewest: within,

        renew: Effect.fnUntraced(function* (link) {
          const [renewed] = yield* sql<{ readonly before: Date | null }>`
            UPDATE devices SET lease_until = ${leaseEnd()}, last_seen_at = ${new Date(now())}
            FROM (SELECT id, lease_until AS before FROM devices WHERE id = ${link.deviceId} FOR NO KEY UPDATE) held
            WHERE devices.id = held.id AND generation = ${link.generation} AND revoked_at IS NULL RETURNING held.before`
          if (renewed === undefined) return yield* stands(link)
          if ((renewed.before?.getTime() ?? 0) <= now()) yield* notify(sql, "presence", link.deviceId)
        }),

        offer: Effect.fnUntraced(function* (link, { agents, commands, version, workspaces }) {
          const told = yield* sql`
            UPDATE devices SET version = ${version}, workspaces = ${workspaces}, agents = ${agents}, commands = ${commands}
            WHERE id = ${link.deviceId} AND generation = ${link.generation} AND revoked_at IS NULL RETURNING id`
          if (told.length === 0) yield* stands(link)
        }),

        release: ({ deviceId, generation }) =>
          Effect.asVoid(sql`
            WITH gone AS (
              UPDATE devices SET lease_until = NULL, connection_id = NULL, last_seen_at = ${new Date(now())}
              WHERE id = ${deviceId} AND generation = ${generation} AND lease_until IS NOT NULL RETURNING id
            ) SELECT pg_notify(${channels.presence}, id) FROM gone`),

        findLost: (links) =>
          sql<{ readonly id: DeviceId; readonly generation: number; readonly revoked: boolean }>`
            SELECT id, generation::int AS generation, revoked_at IS NOT NULL AS revoked FROM devices
            WHERE id = ANY(${links.map(({ deviceId }) => deviceId)}::text[])`.pipe(
            Effect.map((rows) => {
              const known = new Map(rows.map((row) => [row.id, row]))
              const lost = new Map<DeviceId, "fenced" | "ended">()
              for (const { deviceId, generation } of links) {
                const row = known.get(deviceId)
                if (row === undefined || row.revoked) lost.set(deviceId, "ended")
                else if (row.generation > generation) lost.set(deviceId, "fenced")
              }
              return lost
            })
          )
      })
    })
  )
}

/** Starts of Edges that a device remembers to have been fenced. */
const FENCED_KEPT = 16
/** How often two that share a key may take the link from each other. */
const FLAPS_ONCE_MS = 60_000

interface Row {
  readonly instance_id: string | null
  readonly fenced_instances: ReadonlyArray<string>
  readonly lease_until: Date | null
  readonly flapped_at: Date | null
}

/** What a link is told that is not its device's any more. */
export const linkFenced = () => new Conflict({ message: "A newer link of this device has taken over." })
