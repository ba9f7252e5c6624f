/**
 * Renewals of leases: one statement per Hub and second for all its links.
 *
 * Guarantees: a renewal succeeds when it is stored, and fails if the link is not the newest of its device. Links that are fenced or revoked
 * fail alone, and a device whose row another transaction has locked waits alone.
 */
import { Effect } from "effect"
import type { SqlError, Statement } from "effect/sql"
import type { DeviceLink } from "../device/DeviceLink.ts"
import { renewedLeaseRows } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { notify } from "../store/Notice.ts"
import type { LeaseContext } from "./LeaseTakeover.ts"

/** Answers whether the link was renewed: whether it is the newest of its device. The first renewal after a pause does not wait. */
export const makeLeaseRenewals = Effect.fnUntraced(function* (context: LeaseContext) {
  const { sql } = context
  const together = yield* Gathered.make({
    answer: (links: ReadonlyArray<DeviceLink>) => renewAll(context, links, sql`SKIP LOCKED`),
    interval: "1 second"
  })
  return Effect.fnUntraced(function* (link: DeviceLink): Effect.fn.Return<boolean, SqlError.SqlError> {
    if (yield* together.ask(link)) return true
    const [isRenewed] = yield* renewAll(context, [link], sql``)
    return isRenewed === true
  })
})

/** Locks in the order of ids, as pushes do. `false` also for a row that `whenLocked` skips. */
const renewAll = Effect.fn("LeaseRenewals.renew")(function* (
  { leaseEnd, now, sql }: LeaseContext,
  links: ReadonlyArray<DeviceLink>,
  whenLocked: Statement.Fragment
): Effect.fn.Return<ReadonlyArray<boolean>, SqlError.SqlError> {
  const renewed = yield* renewedLeaseRows.all(sql`
    WITH held AS (
      SELECT id, lease_until AS before FROM devices
      WHERE id = ANY(${links.map(({ deviceId }) => deviceId)}::text[]) ORDER BY id FOR NO KEY UPDATE ${whenLocked}
    )
    UPDATE devices SET lease_until = ${leaseEnd()}, linked = true, last_seen_at = ${new Date(now())}
    FROM held JOIN unnest(
      ${links.map(({ deviceId }) => deviceId)}::text[], ${links.map(({ generation }) => generation)}::bigint[]
    ) AS link (id, generation) ON link.id = held.id
    WHERE devices.id = held.id AND devices.generation = link.generation AND revoked_at IS NULL
    RETURNING devices.id, devices.generation::int AS generation, held.before`)
  const ended = renewed.filter(({ before }) => (before?.getTime() ?? 0) <= now())
  yield* notify(sql, "presence", ...ended.map(({ id }) => id))
  const generations = new Map(renewed.map(({ generation, id }) => [id, generation]))
  return links.map(({ deviceId, generation }) => generations.get(deviceId) === generation)
})
