/**
 * Renewals of leases: one statement per Hub and second for all its links.
 *
 * Guarantees: a renewal succeeds when it is stored, and fails if the link is not the newest of its device. Links that are fenced or revoked
 * fail alone.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceLink.ts"
import { renewedLeaseRows } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { notify } from "../store/Notice.ts"
import type { LeaseContext } from "./LeaseTakeover.ts"

/** Answers whether the link was renewed: whether it is the newest of its device. The first renewal after a pause does not wait. */
export const makeLeaseRenewals = (context: LeaseContext) =>
  Gathered.make({
    answer: (links: ReadonlyArray<DeviceLink>) => renewAll(context, links),
    interval: "1 second"
  })

/** Locks in the order of ids, as pushes do. */
const renewAll = Effect.fn("Leases.renew")(function* (
  { leaseEnd, now, sql }: LeaseContext,
  links: ReadonlyArray<DeviceLink>
): Effect.fn.Return<ReadonlyArray<boolean>, SqlError.SqlError> {
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
  const generations = new Map(renewed.map(({ generation, id }) => [id, generation]))
  return links.map(({ deviceId, generation }) => generations.get(deviceId) === generation)
})
