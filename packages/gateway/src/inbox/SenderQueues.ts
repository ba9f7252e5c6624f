/**
 * One queue of pending events per sender: an account of one chat platform, app and tenant.
 *
 * Guarantees: the events of a sender are handled one at a time, in the order in which they were kept. Clicks on one card start in that order
 * too, unless an earlier one waits for its own sender, waits for a retry, or has run for `CARD_WAIT_MS`. No chat has more than `perChat`
 * events in progress, and queues that are ready take turns. A queue is leased: the events of a Gateway that dies are taken up
 * by another after `LEASE_MS`.
 *
 * Does not: handle anything, or decide when to retry.
 */
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Inbound, InboundKind } from "../platform/ChatPlatform.ts"

export const QUEUE_LEASE_MS = 6_000
/** A click waits no longer than this for an earlier click on the same card that is in progress. */
export const CARD_WAIT_MS = 1_000
/** Notices about failed events per sender and hour. */
const NOTICES_PER_HOUR = 10
const HOUR_MS = 3_600_000

/** An event that its sender's queue has reached. */
export interface ClaimedEvent {
  readonly queue: number
  readonly arrival: number
  /** Place in its chat, from 1. */
  readonly position: number
  readonly inbound: Inbound
  /** How often it was started, this time included. */
  readonly attempts: number
  /** How often a started attempt reported a failure. */
  readonly failures: number
  /** Unix milliseconds of the first failure since the last success of this sender. */
  readonly failingSince: number | undefined
}

interface ClaimedRow extends Omit<ClaimedEvent, "inbound" | "failingSince">, Omit<Inbound, "receivedAt"> {
  readonly kind: InboundKind
  readonly receivedAt: Date
  readonly failingSince: Date | null
}

const claimedOf = (row: ClaimedRow): ClaimedEvent => {
  const { arrival, attempts, cardId, failingSince, failures, position, queue, receivedAt, ...inbound } = row
  return {
    queue,
    arrival,
    position,
    attempts,
    failures,
    failingSince: failingSince?.getTime(),
    // The stored key of a card ends with its message.
    inbound: {
      ...inbound,
      cardId: cardId.slice(cardId.lastIndexOf(" ") + 1),
      receivedAt: receivedAt.getTime()
    }
  }
}

type Ended = Effect.Effect<void, SqlError.SqlError>

export class SenderQueues extends Context.Service<
  SenderQueues,
  {
    /** Leases up to `free` events that may start now. */
    readonly claim: (
      owner: string,
      limits: { readonly free: number; readonly perChat: number }
    ) => Effect.Effect<ReadonlyArray<ClaimedEvent>, SqlError.SqlError>
    /** Renews the leases of these queues; returns those that `owner` still holds. */
    readonly renew: (
      owner: string,
      held: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlySet<number>, SqlError.SqlError>
    /** Returns what `owner` holds. The interrupted attempts do not count. */
    readonly release: (owner: string) => Ended
    /** Ends an event. Does nothing if `owner` no longer holds it. */
    readonly complete: (owner: string, event: ClaimedEvent) => Ended
    /** Retries an event at a time, in Unix milliseconds. Later events of its sender wait; nothing else does. */
    readonly retry: (owner: string, event: ClaimedEvent, at: number) => Ended
    /** Moves an event to the dead letters, where its sender is owed a notice. `reason` repeats nothing of the event. */
    readonly giveUp: (
      owner: string,
      event: ClaimedEvent,
      why: { readonly reason: string; readonly passing: boolean }
    ) => Ended
    /** Wakes `changed`. */
    readonly wake: Effect.Effect<void>
    /** Waits until an event may have become ready in this process. */
    readonly changed: Effect.Effect<void>
  }
>()("corral/gateway/SenderQueues") {
  static readonly layer = Layer.effect(
    SenderQueues,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const at = (millis = 0) => new Date(clock.currentTimeMillisUnsafe() + millis)
      const signal = yield* Queue.sliding<void>(1)
      const wake = Effect.asVoid(Queue.offer(signal, undefined))

      const lock = (owner: string, { arrival, queue }: ClaimedEvent) =>
        Effect.map(
          sql`SELECT id FROM sender_queues
            WHERE id = ${queue} AND head = ${arrival} AND lease_owner = ${owner} FOR UPDATE`,
          (rows) => rows.length > 0
        )

      /** In its own statement after the lock: it sees every event that was kept before. */
      const advance = Effect.fnUntraced(function* ({ arrival, queue }: ClaimedEvent, failing: boolean) {
        const now = at()
        yield* sql`UPDATE inbox SET body = NULL, done_at = ${now}, queue = NULL WHERE arrival = ${arrival}`
        yield* sql`
          UPDATE sender_queues q SET head = next.head, due_at = ${now}, attempts = 0, failures = 0, lease_owner = NULL,
            lease_until = NULL, failing_since =
              CASE WHEN ${failing} AND next.head IS NOT NULL THEN coalesce(q.failing_since, q.began_at) END
          FROM (SELECT min(arrival) AS head FROM inbox WHERE queue = ${queue} AND done_at IS NULL) next
          WHERE q.id = ${queue}`
      })

      const bury = ({ arrival, attempts, inbound }: ClaimedEvent, reason: string) => sql`
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

      return SenderQueues.of({
        claim: (owner, { free, perChat }) =>
          Effect.map(
            Effect.suspend(
              () => sql<ClaimedRow>`
              WITH busy AS (
                SELECT i.chat, count(*) AS events FROM sender_queues q JOIN inbox i ON i.arrival = q.head
                WHERE q.lease_until > ${at()} GROUP BY i.chat
              ), ready AS (
                SELECT q.id, q.due_at, q.head,
                  coalesce(busy.events, 0) + row_number() OVER (PARTITION BY i.chat ORDER BY q.due_at, q.head) AS in_chat
                FROM sender_queues q JOIN inbox i ON i.arrival = q.head LEFT JOIN busy USING (chat)
                WHERE q.due_at <= ${at()} AND (q.lease_until IS NULL OR q.lease_until <= ${at()})
                  AND (i.card IS NULL OR NOT EXISTS (
                    SELECT 1 FROM inbox o JOIN sender_queues other ON other.head = o.arrival
                    WHERE o.card = i.card AND o.done_at IS NULL AND o.arrival <> i.arrival
                      AND CASE WHEN other.lease_until > ${at()} THEN other.began_at > ${at(-CARD_WAIT_MS)}
                        ELSE other.due_at <= ${at()} AND o.arrival < i.arrival END
                  ))
              ), locked AS (
                SELECT id FROM sender_queues
                WHERE id IN (
                  SELECT id FROM ready WHERE in_chat <= ${perChat} ORDER BY due_at, head LIMIT ${free}
                ) AND (lease_until IS NULL OR lease_until <= ${at()})
                FOR UPDATE SKIP LOCKED
              )
              UPDATE sender_queues q SET lease_owner = ${owner}, lease_until = ${at(QUEUE_LEASE_MS)}, began_at = ${at()},
                attempts = attempts + 1
              FROM locked, inbox i WHERE q.id = locked.id AND i.arrival = q.head
              RETURNING q.id::float8 AS queue, i.arrival::float8 AS arrival, i.position::float8 AS position, q.attempts,
                q.failures, q.failing_since AS "failingSince", i.platform, i.app, i.tenant, i.upstream_id AS "upstreamId",
                i.kind, i.chat_id AS "chatId", i.sender AS "senderId", coalesce(i.card, '') AS "cardId", i.body,
                i.received_at AS "receivedAt"`
            ),
            (rows) => rows.map(claimedOf)
          ),
        renew: Effect.fnUntraced(function* (owner, held) {
          if (held.length === 0) return new Set<number>()
          const rows = yield* sql<{ readonly id: number }>`
            UPDATE sender_queues SET lease_until = ${at(QUEUE_LEASE_MS)}
            WHERE lease_owner = ${owner} AND ${sql.in("id", held)} RETURNING id::float8 AS id`
          return new Set(rows.map(({ id }) => id))
        }),
        release: (owner) =>
          Effect.asVoid(sql`
            UPDATE sender_queues SET lease_owner = NULL, lease_until = NULL, attempts = greatest(attempts - 1, 0)
            WHERE lease_owner = ${owner}`),
        complete: (owner, event) =>
          Effect.gen(function* () {
            if (yield* lock(owner, event)) yield* advance(event, false)
          }).pipe(sql.withTransaction),
        retry: (owner, { arrival, queue }, time) =>
          Effect.asVoid(sql`
            UPDATE sender_queues SET due_at = ${new Date(time)}, failures = failures + 1, lease_owner = NULL,
              lease_until = NULL, failing_since = coalesce(failing_since, began_at)
            WHERE id = ${queue} AND head = ${arrival} AND lease_owner = ${owner}`),
        giveUp: (owner, event, { passing, reason }) =>
          Effect.gen(function* () {
            if (!(yield* lock(owner, event))) return
            yield* bury(event, reason)
            yield* advance(event, passing)
          }).pipe(sql.withTransaction),
        wake,
        changed: Queue.take(signal)
      })
    })
  )
}
