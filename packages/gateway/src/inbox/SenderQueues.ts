/**
 * One queue of pending events per sender: an account of one chat platform, app and tenant; the claims of queues that are ready, with the lease
 * of their first events; and the codec of stored events.
 *
 * Guarantees: the events of a sender are handled one at a time, in the order in which they were stored. Clicks on one card start in that order
 * too, unless an earlier one waits for its own sender, waits for a retry, or has run for `CARD_WAIT_MS`. A chat has up to `perChat` events in
 * progress, a quarter of them clicks, so messages do not delay clicks and clicks do not delay messages. Queues that are ready take turns. A
 * queue is leased: when a Gateway dies, another one claims its events after `QUEUE_LEASE_MS`.
 *
 * Does not: handle events, or decide when to retry.
 */
import { Coalesced } from "@corral/service/Coalesced"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { type TimedStore, queryRows, timedStore } from "../store/RowQueries.ts"

/** Codec of the events in the tables `inbox` and `dead_letters`, as their queries name the columns. */
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
type ClaimLimits = typeof ClaimLimits.Type

const ClaimRequest = Schema.Struct({ owner: Schema.String, ...ClaimLimits.fields })

const clicksOf = (perChat: number): number => Math.max(1, Math.floor(perChat / 4))

/** Query that leases up to `free` events that may start now. */
const makeClaim = ({ at, sql }: TimedStore) => {
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

// Dead letters: failed events that are not retried. Their senders are sent a notice, up to `NOTICES_PER_HOUR`.

/** Per sender and chat. */
const NOTICES_PER_HOUR = 10
const HOUR_MS = 3_600_000

/** Copies an event to the dead letters. `reason` repeats nothing of the event. */
const moveToDeadLetters = (
  { at, sql }: TimedStore,
  { arrival, attempts, inbound }: ClaimedEvent,
  reason: string
) =>
  sql`
  INSERT INTO dead_letters (platform, app, upstream_id, tenant, kind, chat_id, sender, card, body, reason, attempts,
    received_at, buried_at, tell_at)
  SELECT platform, app, upstream_id, tenant, kind, chat_id, sender, card, body, ${reason}, ${attempts}::int,
    received_at, ${at()}::timestamptz,
    CASE WHEN (
      SELECT count(*) FROM dead_letters d
      WHERE d.platform = ${inbound.platform} AND d.app = ${inbound.app} AND d.tenant = ${inbound.tenant}
        AND d.sender = ${inbound.senderId} AND d.chat_id = inbox.chat_id AND d.buried_at > ${at(-HOUR_MS)}
    ) < ${NOTICES_PER_HOUR} THEN ${at()}::timestamptz END
  FROM inbox WHERE arrival = ${arrival}
  ON CONFLICT DO NOTHING`

type Update = Effect.Effect<void, SqlError.SqlError>

export class SenderQueues extends Context.Service<
  SenderQueues,
  {
    /** Leases up to `free` events that may start now. */
    readonly claim: (
      owner: string,
      limits: ClaimLimits
    ) => Effect.Effect<ReadonlyArray<ClaimedEvent>, SqlError.SqlError>
    /** Renews the leases of these queues; returns those that `owner` still holds. */
    readonly renew: (
      owner: string,
      queues: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlySet<number>, SqlError.SqlError>
    /** Releases all leases of `owner`. Interrupted attempts do not count. */
    readonly release: (owner: string) => Update
    /** Ends an event. Does nothing if `owner` no longer holds its lease. */
    readonly complete: (owner: string, event: ClaimedEvent) => Update
    /** Retries an event at a time, in Unix milliseconds. Only later events of its sender wait for it. */
    readonly retry: (owner: string, event: ClaimedEvent, at: number) => Update
    /** Moves an event to the dead letters. `reason` repeats nothing of the event. */
    readonly giveUp: (
      owner: string,
      event: ClaimedEvent,
      why: { readonly reason: string; readonly isPassing: boolean }
    ) => Update
    /** Wakes `changed`. */
    readonly wake: Effect.Effect<void>
    /** Waits until an event may have become ready in this process. */
    readonly changed: Effect.Effect<void>
  }
>()("corral/gateway/SenderQueues") {
  static readonly layer = Layer.effect(
    SenderQueues,
    Effect.gen(function* () {
      const store = yield* timedStore
      const { wake, woken } = yield* Coalesced.make
      return SenderQueues.of({
        claim: Effect.fn("SenderQueues.claim")(makeClaim(store)),
        renew: Effect.fn("SenderQueues.renew")(makeRenewal(store)),
        release: Effect.fn("SenderQueues.release")((owner) => releaseLeases(store, owner)),
        complete: Effect.fn("SenderQueues.complete")((owner, event) => complete(store, owner, event)),
        retry: Effect.fn("SenderQueues.retry")((owner, event, time) => retryAt(store, owner, event, time)),
        giveUp: Effect.fn("SenderQueues.giveUp")((owner, event, why) => giveUp(store, owner, event, why)),
        wake: Effect.sync(wake),
        changed: woken
      })
    })
  )
}

const Renewal = Schema.Struct({ owner: Schema.String, queues: Schema.Array(Schema.Number) })

const makeRenewal = ({ at, sql }: TimedStore) => {
  const renew = queryRows({
    Request: Renewal,
    Result: Schema.Struct({ id: Schema.Number }),
    execute: ({ owner, queues }) =>
      queues.length === 0
        ? Effect.succeed([])
        : sql`
          UPDATE sender_queues SET lease_until = ${at(QUEUE_LEASE_MS)}
          WHERE lease_owner = ${owner} AND ${sql.in("id", queues)} RETURNING id::float8 AS id`
  })
  return (
    owner: string,
    queues: ReadonlyArray<number>
  ): Effect.Effect<ReadonlySet<number>, SqlError.SqlError> =>
    Effect.map(renew({ owner, queues }), (rows) => new Set(rows.map(({ id }) => id)))
}

const releaseLeases = ({ sql }: TimedStore, owner: string): Update =>
  Effect.asVoid(sql`
    UPDATE sender_queues SET lease_owner = NULL, lease_until = NULL, attempts = greatest(attempts - 1, 0)
    WHERE lease_owner = ${owner}`)

/** Locks the queue of an event; false if `owner` no longer holds the lease. */
const lockQueue = ({ sql }: TimedStore, owner: string, { arrival, queue }: ClaimedEvent) =>
  Effect.map(
    sql`SELECT id FROM sender_queues
      WHERE id = ${queue} AND head = ${arrival} AND lease_owner = ${owner} FOR UPDATE`,
    (rows) => rows.length > 0
  )

/** Marks the event as done and moves its queue to the next event. Runs after the lock, so it sees every event stored before. */
const markDone = Effect.fnUntraced(function* (
  { at, sql }: TimedStore,
  { arrival, queue }: ClaimedEvent,
  isFailing: boolean
) {
  const now = at()
  yield* sql`UPDATE inbox SET body = NULL, done_at = ${now}, queue = NULL WHERE arrival = ${arrival}`
  yield* sql`
    UPDATE sender_queues q SET head = next.head, due_at = ${now}, attempts = 0, failures = 0, lease_owner = NULL,
      lease_until = NULL, failing_since =
        CASE WHEN ${isFailing} AND next.head IS NOT NULL THEN coalesce(q.failing_since, q.began_at) END
    FROM (SELECT min(arrival) AS head FROM inbox WHERE queue = ${queue} AND done_at IS NULL) next
    WHERE q.id = ${queue}`
})

const complete = (store: TimedStore, owner: string, event: ClaimedEvent): Update =>
  Effect.gen(function* () {
    if (yield* lockQueue(store, owner, event)) yield* markDone(store, event, false)
  }).pipe(store.sql.withTransaction)

const retryAt = (
  { sql }: TimedStore,
  owner: string,
  { arrival, queue }: ClaimedEvent,
  time: number
): Update =>
  Effect.asVoid(sql`
    UPDATE sender_queues SET due_at = ${new Date(time)}, failures = failures + 1, lease_owner = NULL,
      lease_until = NULL, failing_since = coalesce(failing_since, began_at)
    WHERE id = ${queue} AND head = ${arrival} AND lease_owner = ${owner}`)

const giveUp = (
  store: TimedStore,
  owner: string,
  event: ClaimedEvent,
  { isPassing, reason }: { readonly reason: string; readonly isPassing: boolean }
): Update =>
  Effect.gen(function* () {
    if (!(yield* lockQueue(store, owner, event))) return
    yield* moveToDeadLetters(store, event, reason)
    yield* markDone(store, event, isPassing)
  }).pipe(store.sql.withTransaction)
