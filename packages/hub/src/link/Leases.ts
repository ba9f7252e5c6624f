/**
 * Leases: which link speaks for a device, and until when the device counts as online. Also the rotation of a device's key: later proofs need
 * the new key, and the current link stays open.
 *
 * Guarantees: a new link has a higher generation and fences all earlier ones: their calls fail on every Hub. Heartbeats renew the lease. Every
 * change of presence is published as the notice `presence`. A renewal succeeds when it is stored. Links that are fenced or revoked fail alone, and a device
 * whose row another transaction has locked waits alone.
 * Does not own sockets.
 */
import { Conflict, type Unauthorized, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient, SqlError, type Statement } from "effect/sql"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { type DeviceLink, linkRows, renewedLeaseRows, deviceIdRows } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { announced, notify } from "../store/Notices.ts"
import {
  type EncodedOffer,
  leaseEndOf,
  type LeaseRequest,
  makeTakeOver,
  type TakenLink
} from "./LeaseTakeover.ts"
import { invalidDeviceProof } from "./Proofs.ts"
import { Audit } from "../audit/Audit.ts"

/** The link is not the newest of its device (`conflict`), or the device was revoked (`unauthorized`). */
type LinkLost = Conflict | Unauthorized

export class Leases extends Context.Service<
  Leases,
  {
    /** Takes the device's link over. `conflict`: two Edges with one key have taken it from each other twice within a minute. */
    readonly acquire: (request: LeaseRequest) => Effect.Effect<TakenLink, LinkLost | SqlError.SqlError>
    /** Fails unless the link is the device's newest. The link stays the newest until the caller's transaction ends. */
    readonly requireNewest: (link: DeviceLink) => Effect.Effect<void, LinkLost | SqlError.SqlError>
    /** Runs `self` in a transaction during which the link stays the device's newest. */
    readonly withNewest: <A, E, R>(
      link: DeviceLink,
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | LinkLost | SqlError.SqlError, R>
    /** Those whose link is lost. The other links stay the newest of their devices until the caller's transaction ends. */
    readonly holdNewest: <P extends { readonly link: DeviceLink }>(
      holders: ReadonlyArray<P>
    ) => Effect.Effect<ReadonlyMap<P, LinkLost>, SqlError.SqlError>
    readonly renew: (link: DeviceLink) => Effect.Effect<void, LinkLost | SqlError.SqlError>
    /** Replaces the device's offer. */
    readonly offer: (
      link: DeviceLink,
      offer: EncodedOffer
    ) => Effect.Effect<void, LinkLost | SqlError.SqlError>
    /** Ends the lease of a device that has disconnected. Changes nothing if the device has a newer link. */
    readonly release: (link: DeviceLink) => Effect.Effect<void, SqlError.SqlError>
    /** The links that no longer speak for their device: `fenced` by a newer link, or `ended` with the device. */
    readonly findLost: (
      links: ReadonlyArray<DeviceLink>
    ) => Effect.Effect<ReadonlyMap<DeviceId, "fenced" | "ended">, SqlError.SqlError>
  }
>()("corral/hub/Leases") {
  static readonly layer = Layer.effect(
    Leases,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const sql = yield* SqlClient.SqlClient
      yield* expireLeases(sql, now)
      const renew = yield* makeLeaseRenewals(sql, now)

      return Leases.of({
        acquire: yield* makeTakeOver(now),
        requireNewest: (link) => requireNewest(sql, link),
        withNewest: (link, self) => sql.withTransaction(Effect.andThen(requireNewest(sql, link), self)),
        holdNewest: (holders) => holdNewest(sql, holders),
        renew: (link) =>
          Effect.flatMap(renew(link), (isRenewed) => (isRenewed ? Effect.void : requireNewest(sql, link))),

        offer: Effect.fn("Leases.offer")(function* (link, { agents, commands, version, workspaces }) {
          const updated = yield* sql`
            UPDATE devices SET version = ${version}, workspaces = ${workspaces}, agents = ${agents}, commands = ${commands}
            WHERE id = ${link.deviceId} AND generation = ${link.generation} AND revoked_at IS NULL RETURNING id`
          if (updated.length === 0) yield* requireNewest(sql, link)
        }),

        release: Effect.fn("Leases.release")(function* ({ deviceId, generation }) {
          yield* announced(
            sql,
            "presence",
            sql`
              UPDATE devices SET lease_until = NULL, linked = false, connection_id = NULL, last_seen_at = ${new Date(now())}
              WHERE id = ${deviceId} AND generation = ${generation} AND lease_until IS NOT NULL RETURNING id`
          )
        }),

        findLost: (links) => findLostLinks(sql, links)
      })
    })
  )
}

/** Failure of a link that a newer link of the same device has fenced. */
export const linkFenced = () => new Conflict({ message: "A newer link of this device has taken over." })

/** Takes expired leases off their devices, so that the notice reaches every Hub. */
const expireLeases = (sql: SqlClient.SqlClient, now: () => number) =>
  Effect.suspend(() =>
    announced(
      sql,
      "presence",
      sql`
        UPDATE devices SET lease_until = NULL, linked = false WHERE id IN (
          SELECT id FROM devices
          WHERE linked AND lease_until <= ${new Date(now())} AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED
        ) RETURNING id`
    )
  ).pipe(
    Effect.catch((error) => Effect.logWarning("failed to expire leases", error)),
    Effect.repeat(Schedule.spaced("5 seconds")),
    Effect.forkScoped
  )

/** Untraced: runs for every push. Locks in the order of ids, so that two transactions never deadlock. */
const holdNewest = Effect.fnUntraced(function* <P extends { readonly link: DeviceLink }>(
  sql: SqlClient.SqlClient,
  holders: ReadonlyArray<P>
): Effect.fn.Return<ReadonlyMap<P, LinkLost>, SqlError.SqlError> {
  const ids = [...new Set(holders.map(({ link }) => link.deviceId))]
  const rows = yield* linkRows.all(sql`
    SELECT id, generation::int AS generation, revoked_at IS NOT NULL AS revoked
    FROM devices WHERE id = ANY(${ids}::text[]) ORDER BY id FOR SHARE`)
  const devices = new Map(rows.map((row) => [row.id, row]))
  const lost = new Map<P, LinkLost>()
  for (const holder of holders) {
    const { deviceId, generation } = holder.link
    const device = devices.get(deviceId)
    if (device === undefined || device.revoked) lost.set(holder, invalidDeviceProof())
    else if (device.generation !== generation) lost.set(holder, linkFenced())
  }
  return lost
})

const requireNewest = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, link: DeviceLink) {
  const holder = { link }
  const lost = (yield* holdNewest(sql, [holder])).get(holder)
  if (lost !== undefined) return yield* lost
})

const findLostLinks = Effect.fn("Leases.findLost")(function* (
  sql: SqlClient.SqlClient,
  links: ReadonlyArray<DeviceLink>
) {
  const rows = yield* linkRows.all(sql`
    SELECT id, generation::int AS generation, revoked_at IS NOT NULL AS revoked FROM devices
    WHERE id = ANY(${links.map(({ deviceId }) => deviceId)}::text[])`)
  const devices = new Map(rows.map((row) => [row.id, row]))
  const lost = new Map<DeviceId, "fenced" | "ended">()
  for (const { deviceId, generation } of links) {
    const device = devices.get(deviceId)
    if (device === undefined || device.revoked) lost.set(deviceId, "ended")
    else if (device.generation > generation) lost.set(deviceId, "fenced")
  }
  return lost
})

/** Answers whether the link was renewed: whether it is the newest of its device. The first renewal after a pause does not wait. */
const makeLeaseRenewals = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, now: () => number) {
  const together = yield* Gathered.make({
    answer: (links: ReadonlyArray<DeviceLink>) => renewAll(sql, now(), links, sql`SKIP LOCKED`),
    interval: "1 second"
  })
  return Effect.fnUntraced(function* (link: DeviceLink): Effect.fn.Return<boolean, SqlError.SqlError> {
    if (yield* together.ask(link)) return true
    const [isRenewed] = yield* renewAll(sql, now(), [link], sql``)
    return isRenewed === true
  })
})

/** Locks in the order of ids, as pushes do. `false` also for a row that `whenLocked` skips. */
const renewAll = Effect.fn("Leases.renewAll")(function* (
  sql: SqlClient.SqlClient,
  at: number,
  links: ReadonlyArray<DeviceLink>,
  whenLocked: Statement.Fragment
): Effect.fn.Return<ReadonlyArray<boolean>, SqlError.SqlError> {
  const renewed = yield* renewedLeaseRows.all(sql`
    WITH held AS (
      SELECT id, lease_until AS before FROM devices
      WHERE id = ANY(${links.map(({ deviceId }) => deviceId)}::text[]) ORDER BY id FOR NO KEY UPDATE ${whenLocked}
    )
    UPDATE devices SET lease_until = ${leaseEndOf(at)}, linked = true, last_seen_at = ${new Date(at)}
    FROM held JOIN unnest(
      ${links.map(({ deviceId }) => deviceId)}::text[], ${links.map(({ generation }) => generation)}::bigint[]
    ) AS link (id, generation) ON link.id = held.id
    WHERE devices.id = held.id AND devices.generation = link.generation AND revoked_at IS NULL
    RETURNING devices.id, devices.generation::int AS generation, held.before`)
  const ended = renewed.filter(({ before }) => (before?.getTime() ?? 0) <= at)
  yield* notify(sql, "presence", ...ended.map(({ id }) => id))
  const generations = new Map(renewed.map(({ generation, id }) => [id, generation]))
  return links.map(({ deviceId, generation }) => generations.get(deviceId) === generation)
})

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
        rotate: Effect.fn("Leases.rotateKey")(function* (link, publicKey) {
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
