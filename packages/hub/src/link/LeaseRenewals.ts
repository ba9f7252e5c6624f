/**
 * Renewals of leases: one statement per Hub and second for all its links.
 *
 * Guarantees: a renewal succeeds when it is stored, and fails if the link is not the newest of its device. Links that are fenced or revoked
 * fail alone.
 */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Deferred, Effect, Exit } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceLink.ts"
import { renewedLeaseRows } from "../device/DeviceRow.ts"
import { notify } from "../store/Notice.ts"

/** Time between two statements. The first renewal after a pause does not wait. */
const INTERVAL = "1 second"

export interface RenewalContext {
  readonly sql: SqlClient.SqlClient
  /** Unix milliseconds. */
  readonly now: () => number
  readonly leaseEnd: () => Date
  /** Starts an effect that ends when no renewal waits. */
  readonly fork: (effect: Effect.Effect<void>) => void
}

interface Renewal {
  readonly link: DeviceLink
  /** Whether the link was renewed. */
  readonly done: Deferred.Deferred<boolean, SqlError.SqlError>
}

export class LeaseRenewals {
  private readonly context: RenewalContext
  private waiting: Array<Renewal> = []
  private isRunning = false

  constructor(context: RenewalContext) {
    this.context = context
  }

  /** Returns `false` if the link was not renewed: it is not the newest of its device. */
  renew(link: DeviceLink): Effect.Effect<boolean, SqlError.SqlError> {
    return Effect.suspend(() => {
      const done = Deferred.makeUnsafe<boolean, SqlError.SqlError>()
      this.waiting.push({ link, done })
      if (!this.isRunning) {
        this.isRunning = true
        this.context.fork(this.run)
      }
      return Deferred.await(done)
    })
  }

  private readonly run: Effect.Effect<void> = Effect.whileLoop({
    while: () => {
      this.isRunning = this.waiting.length > 0
      return this.isRunning
    },
    body: () => {
      const renewals = this.waiting
      this.waiting = []
      return Effect.andThen(this.settle(renewals), Effect.sleep(INTERVAL))
    },
    step: () => undefined
  })

  private settle(renewals: ReadonlyArray<Renewal>): Effect.Effect<void> {
    const links = renewals.map(({ link }) => link)
    return Effect.map(Effect.exit(renewAll(this.context, links)), (exit) => {
      for (const { done, link } of renewals)
        Deferred.doneUnsafe(
          done,
          Exit.map(exit, (renewed) => renewed.get(link.deviceId) === link.generation)
        )
    })
  }
}

/** Generations of the renewed devices. Locks in the order of ids, as pushes do. */
const renewAll = Effect.fn("Leases.renew")(function* (
  { leaseEnd, now, sql }: RenewalContext,
  links: ReadonlyArray<DeviceLink>
): Effect.fn.Return<ReadonlyMap<DeviceId, number>, SqlError.SqlError> {
  const renewed = yield* renewedLeaseRows.all(sql`
    WITH held AS (
      SELECT id, lease_until AS before FROM devices
      WHERE id = ANY(${links.map(({ deviceId }) => deviceId)}::text[]) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE devices SET lease_until = ${leaseEnd()}, linked = true, last_seen_at = ${new Date(now())}
    FROM held JOIN unnest(
      ${links.map(({ deviceId }) => deviceId)}::text[], ${links.map(({ generation }) => generation)}::bigint[]
    ) AS link (id, generation) ON link.id = held.id
    WHERE devices.id = held.id AND devices.generation = link.generation AND revoked_at IS NULL
    RETURNING devices.id, devices.generation::int AS generation, held.before`)
  const ended = renewed.filter(({ before }) => (before?.getTime() ?? 0) <= now())
  yield* notify(sql, "presence", ...ended.map(({ id }) => id))
  return new Map(renewed.map(({ generation, id }) => [id, generation]))
})
