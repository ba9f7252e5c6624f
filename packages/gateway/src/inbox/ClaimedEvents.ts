/**
 * Claims of pending events: which queues are ready, and the lease of their first events. Also the codec of stored events.
 */
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { type TimedStore, queryRows } from "../store/RowQueries.ts"

// Codec of the events in the tables `inbox` and `dead_letters`, as their queries name the columns.

export const InboxRow = Schema.Struct({
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  upstreamId: Schema.String,
  kind: Schema.Literals(["message", "message_change", "card_action"]),
  chatId: Schema.String,
  senderId: Schema.String,
  cardId: Schema.String,
  body: Schema.String,
  receivedAt: Schema.Date
})

/** The event of a row. `cardId` stays as it is stored. */
export const inboundOfRow = ({ receivedAt, ...event }: typeof InboxRow.Type): Inbound => ({
  ...event,
  receivedAt: receivedAt.getTime()
})

export const QUEUE_LEASE_MS = 6_000
/** A click waits up to this time for an earlier click on the same card that is in progress. */
export const CARD_WAIT_MS = 1_000

/** The first event of a sender's queue, leased by one Gateway. */
export interface ClaimedEvent {
  readonly queue: number
  readonly arrival: number
  /** Position in its chat, from 1. */
  readonly position: number
  readonly inbound: Inbound
  /** Number of started attempts, with this one. */
  readonly attempts: number
  /** Number of attempts that reported a failure. */
  readonly failures: number
  /** Unix milliseconds of the first failure since the last success of this sender. */
  readonly failingSince: number | undefined
}

const ClaimedRow = Schema.Struct({
  queue: Schema.Number,
  arrival: Schema.Number,
  position: Schema.Number,
  attempts: Schema.Number,
  failures: Schema.Number,
  failingSince: Schema.NullOr(Schema.Date),
  ...InboxRow.fields
})

const claimedEventOf = (row: typeof ClaimedRow.Type): ClaimedEvent => {
  const { arrival, attempts, failingSince, failures, position, queue, ...event } = row
  return {
    queue,
    arrival,
    position,
    attempts,
    failures,
    failingSince: failingSince?.getTime(),
    // The stored key of a card ends with its message.
    inbound: { ...inboundOfRow(event), cardId: event.cardId.slice(event.cardId.lastIndexOf(" ") + 1) }
  }
}

const ClaimLimits = Schema.Struct({
  /** Maximum number of claimed events. */
  free: Schema.Number,
  /** Maximum number of events in progress of one chat, from 2. A quarter of them is for clicks: a user waits for a click at its card. */
  perChat: Schema.Number
})
export type ClaimLimits = typeof ClaimLimits.Type

const ClaimRequest = Schema.Struct({ owner: Schema.String, ...ClaimLimits.fields })

const clicksOf = (perChat: number): number => Math.max(1, Math.floor(perChat / 4))

/** Query that leases up to `free` events that may start now. */
export const makeClaim = ({ at, sql }: TimedStore) => {
  const claim = queryRows({
    Request: ClaimRequest,
    Result: ClaimedRow,
    execute: ({ free, owner, perChat }) => sql`
    WITH busy AS (
      SELECT i.chat, i.card IS NULL AS is_message, count(*) AS events FROM sender_queues q JOIN inbox i ON i.arrival = q.head
      WHERE q.lease_until > ${at()} GROUP BY 1, 2
    ), ready AS (
      SELECT q.id, q.due_at, q.head,
        coalesce(busy.events, 0) + row_number() OVER (PARTITION BY i.chat, i.card IS NULL ORDER BY q.due_at, q.head)
          <= CASE WHEN i.card IS NULL THEN ${perChat - clicksOf(perChat)}::integer ELSE ${clicksOf(perChat)} END AS has_place
      FROM sender_queues q JOIN inbox i ON i.arrival = q.head
      LEFT JOIN busy ON busy.chat = i.chat AND busy.is_message = (i.card IS NULL)
      WHERE q.due_at <= ${at()} AND (q.lease_until IS NULL OR q.lease_until <= ${at()})
        AND (i.card IS NULL OR NOT EXISTS (
          SELECT 1 FROM inbox o JOIN sender_queues other ON other.head = o.arrival
          WHERE o.card = i.card AND o.done_at IS NULL AND o.arrival <> i.arrival
            AND CASE WHEN other.lease_until > ${at()} THEN other.began_at > ${at(-CARD_WAIT_MS)}
              ELSE other.due_at <= ${at()} AND o.arrival < i.arrival END
        ))
    ), locked AS (
      SELECT q.id FROM sender_queues q JOIN ready ON ready.id = q.id
      WHERE has_place AND (lease_until IS NULL OR lease_until <= ${at()})
      ORDER BY ready.due_at, ready.head LIMIT ${free} FOR UPDATE OF q SKIP LOCKED
    )
    UPDATE sender_queues q SET lease_owner = ${owner}, lease_until = ${at(QUEUE_LEASE_MS)}, began_at = ${at()},
      attempts = attempts + 1
    FROM locked, inbox i WHERE q.id = locked.id AND i.arrival = q.head
    RETURNING q.id::float8 AS queue, i.arrival::float8 AS arrival, i.position::float8 AS position, q.attempts,
      q.failures, q.failing_since AS "failingSince", i.platform, i.app, i.tenant, i.upstream_id AS "upstreamId",
      i.kind, i.chat_id AS "chatId", i.sender AS "senderId", coalesce(i.card, '') AS "cardId", i.body,
      i.received_at AS "receivedAt"`
  })
  return (
    owner: string,
    limits: ClaimLimits
  ): Effect.Effect<ReadonlyArray<ClaimedEvent>, SqlError.SqlError> =>
    Effect.map(claim({ owner, ...limits }), (rows) => rows.map(claimedEventOf))
}
