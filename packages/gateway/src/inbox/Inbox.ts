/**
 * Events that came in. An event is kept once, by the platform's id for it, in one transaction with its place in its sender's queue: what
 * was kept will be handled. An event is known for a week after it is done; its body is not kept so long.
 *
 * Does not: handle events. That is the work of `SenderQueues` and of the workers.
 */
import { Array as Arr, Clock, Context, Data, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { groupCommit } from "./GroupCommit.ts"
import { SenderQueues } from "./SenderQueues.ts"

const DAY_MS = 24 * 3_600_000
const REMEMBERED_MS = 7 * DAY_MS
/** Operators have to look at them. */
const BURIED_MS = 30 * DAY_MS
const BATCH = 1_000

/** Events per transaction. */
const GROUP = 2_000
/** By then no platform waits for the answer. */
const PATIENCE = "2 seconds"

/** The store took longer than any platform waits. */
export class StoreSlow extends Data.TaggedError("StoreSlow") {}

interface KeyRow {
  readonly id: number
  readonly key: string
  /** Last position given in a chat. */
  readonly received: number
}

const chatKey = ({ app, chatId, platform, tenant }: Inbound): string =>
  [platform, app, tenant, chatId].join(" ")
const eventKey = ({ app, platform, upstreamId }: Pick<Inbound, "platform" | "app" | "upstreamId">): string =>
  [platform, app, upstreamId].join(" ")
/** A sender's, across all chats; the chat's where the event names no sender. */
const queueKey = (inbound: Inbound): string => {
  const { app, platform, senderId, tenant } = inbound
  return senderId === "" ? `chat ${chatKey(inbound)}` : ["sender", platform, app, tenant, senderId].join(" ")
}
/** Message ids are unique within a chat. */
const cardKey = (inbound: Inbound): string | null =>
  inbound.cardId === "" ? null : `${chatKey(inbound)} ${inbound.cardId}`

const rowOf = (inbound: Inbound, chat: number, position: number, queue: number) => ({
  chat,
  position,
  queue,
  platform: inbound.platform,
  app: inbound.app,
  upstream_id: inbound.upstreamId,
  tenant: inbound.tenant,
  kind: inbound.kind,
  chat_id: inbound.chatId,
  sender: inbound.senderId,
  card: cardKey(inbound),
  body: inbound.body,
  received_at: new Date(inbound.receivedAt)
})

export class Inbox extends Context.Service<
  Inbox,
  {
    /** Durable once it succeeds. False: it was there before. */
    readonly keep: (inbound: Inbound) => Effect.Effect<boolean, SqlError.SqlError | StoreSlow>
    /** Deletes what was done a week ago, and dead letters that are a month old. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
    /** Fails where nothing can be kept. */
    readonly probe: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Inbox") {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const queues = yield* SenderQueues
      const ago = (millis: number) => new Date(clock.currentTimeMillisUnsafe() - millis)

      /** Rows by key, locked until the transaction ends: always in the order of the keys. */
      const lockAll = Effect.fnUntraced(function* (
        table: "chats" | "sender_queues",
        keys: ReadonlySet<string>,
        initial: Readonly<Record<string, unknown>>
      ) {
        const rows: Array<Record<string, unknown>> = [...keys].sort().map((key) => ({ key, ...initial }))
        if (!Arr.isArrayNonEmpty(rows)) return new Map<string, KeyRow>()
        const received = sql.literal(table === "chats" ? "received::float8" : "0")
        const found = yield* sql<KeyRow>`
          INSERT INTO ${sql(table)} ${sql.insert(rows)} ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key
          RETURNING key, id::float8 AS id, ${received} AS received`
        return new Map(found.map((row) => [row.key, row]))
      })

      const known = (inbounds: ReadonlyArray<Inbound>) =>
        sql<Pick<Inbound, "platform" | "app" | "upstreamId">>`
          SELECT platform, app, upstream_id AS "upstreamId" FROM inbox
          WHERE ${sql.in("platform", [...new Set(inbounds.map(({ platform }) => platform))])}
            AND ${sql.in("app", [...new Set(inbounds.map(({ app }) => app))])}
            AND ${sql.in("upstream_id", [...new Set(inbounds.map(({ upstreamId }) => upstreamId))])}`.pipe(
          Effect.map((rows) => new Set(rows.map(eventKey)))
        )

      /** Positions in a chat are dense, and are committed in their order, because the chat is locked. */
      const insert = Effect.fnUntraced(function* (inbounds: ReadonlyArray<Inbound>) {
        const chats = yield* lockAll("chats", new Set(inbounds.map(chatKey)), { received: 0 })
        const senders = yield* lockAll("sender_queues", new Set(inbounds.map(queueKey)), { due_at: ago(0) })
        const seen = yield* known(inbounds)
        const grown = new Map<string, KeyRow>()
        const used = new Set<number>()
        const rows: Array<Record<string, unknown>> = []
        const fresh = inbounds.map((inbound) => {
          const key = chatKey(inbound)
          const chat = grown.get(key) ?? chats.get(key)
          const queue = senders.get(queueKey(inbound))
          if (chat === undefined || queue === undefined || seen.has(eventKey(inbound))) return false
          seen.add(eventKey(inbound))
          const received = chat.received + 1
          grown.set(key, { ...chat, received })
          used.add(queue.id)
          rows.push(rowOf(inbound, chat.id, received, queue.id))
          return true
        })
        const lengths: Array<Record<string, unknown>> = [...grown.values()].map(({ key, received }) => ({
          key,
          received
        }))
        if (!Arr.isArrayNonEmpty(rows) || !Arr.isReadonlyArrayNonEmpty(lengths)) return fresh
        yield* sql`INSERT INTO inbox ${sql.insert(rows)}`
        yield* sql`
          INSERT INTO chats ${sql.insert(lengths)}
          ON CONFLICT (key) DO UPDATE SET received = EXCLUDED.received`
        yield* sql`
          UPDATE sender_queues q SET head = first.arrival, due_at = ${ago(0)}
          FROM (
            SELECT queue, min(arrival) AS arrival FROM inbox
            WHERE ${sql.in("queue", [...used])} AND done_at IS NULL GROUP BY queue
          ) first WHERE q.id = first.queue AND q.head IS NULL`
        return fresh
      })
      const keep = yield* groupCommit(GROUP, (inbounds: ReadonlyArray<Inbound>) =>
        sql.withTransaction(insert(inbounds)).pipe(
          Effect.timeoutOrElse({ duration: PATIENCE, orElse: () => Effect.fail(new StoreSlow()) }),
          Effect.tap(() => queues.wake)
        )
      )

      /** In parts, so that no statement locks many rows. */
      const forget = (table: "inbox" | "dead_letters", column: "done_at" | "buried_at", millis: number) =>
        Effect.suspend(
          () => sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} < ${ago(millis)} LIMIT ${BATCH}
          )) RETURNING 1`
        ).pipe(Effect.repeat({ until: (rows) => rows.length < BATCH }), Effect.asVoid)

      return Inbox.of({
        keep,
        deleteOld: Effect.all(
          [
            forget("inbox", "done_at", REMEMBERED_MS),
            forget("dead_letters", "buried_at", BURIED_MS),
            Effect.suspend(
              () => sql`DELETE FROM sender_queues WHERE head IS NULL AND due_at < ${ago(REMEMBERED_MS)}`
            )
          ],
          { discard: true }
        ),
        // A standby server, which only reads, would answer anything else.
        probe: sql`SELECT 1 FROM inbox LIMIT 1 FOR UPDATE SKIP LOCKED`.pipe(Effect.asVoid)
      })
    })
  )
}
