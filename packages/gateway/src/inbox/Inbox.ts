/**
 * Durable inbox of received events. An event is stored once, by the platform's id, in one transaction with its place in its sender's queue. It is
 * recognized for a week after it is done; its body is deleted when it is done. Insertions of concurrent requests are committed in groups.
 *
 * Does not: handle events. `SenderQueues` and the workers do.
 */
import { probeWrites } from "@corral/service/DatabaseStart"
import { Context, Data, Deferred, Effect, Exit, Latch, Layer, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { type TimedStore, queryRows, timedStore } from "../store/RowQueries.ts"
import { SenderQueues } from "./SenderQueues.ts"

// Group commit: items that arrive during a transaction are written together in the next one, so concurrent callers share its duration.
//
// Guarantees: a group succeeds or fails as a whole. An item whose caller is interrupted before its group starts is not written.

interface PendingItem<A, B, E> {
  readonly item: A
  readonly result: Deferred.Deferred<B, E>
}

/** `write` returns a result for each item, in the order of the items. Items are written until the scope closes. */
export const groupCommit = Effect.fnUntraced(function* <A, B, E>(
  maxItems: number,
  write: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): Effect.fn.Return<(item: A) => Effect.Effect<B, E>, never, Scope.Scope> {
  type Item = PendingItem<A, B, E>
  let pending: Array<Item> = []
  let isClosed = false
  const hasPending = Latch.makeUnsafe(false)

  const answer = (group: ReadonlyArray<Item>, exit: Exit.Exit<ReadonlyArray<B>, E>): void =>
    group.forEach(({ result }, at) =>
      // One value per item, as `write` promises.
      Deferred.doneUnsafe(
        result,
        Exit.map(exit, (values) => values[at] as B)
      )
    )

  const writeNext = Effect.gen(function* () {
    yield* hasPending.await
    const group = pending.slice(0, maxItems)
    pending = pending.slice(maxItems)
    if (pending.length === 0) hasPending.closeUnsafe()
    if (group.length === 0) return
    // Also when the writer is interrupted: a caller must not have to wait for the writer's end as well.
    yield* write(group.map(({ item }) => item)).pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(group, exit))),
      Effect.exit
    )
  })
  const close = Effect.sync(() => {
    isClosed = true
    answer(pending, Exit.interrupt())
    pending = []
  })
  yield* Effect.forkScoped(Effect.ensuring(Effect.forever(writeNext), close))

  return (item) =>
    Effect.suspend(() => {
      if (isClosed) return Effect.interrupt
      const entry: Item = { item, result: Deferred.makeUnsafe() }
      pending.push(entry)
      hasPending.openUnsafe()
      return Effect.onInterrupt(Deferred.await(entry.result), () =>
        Effect.sync(() => {
          pending = pending.filter((each) => each !== entry)
        })
      )
    })
})

// Insertion of received events: each is stored once, with its position in its chat and its place in its sender's queue.
//
// Guarantees: positions in a chat are dense, and commit in their order, because the chat is locked.

/** Codec of the tables `chats` and `sender_queues`. */
const KeyRow = Schema.Struct({
  table: Schema.Literals(["chats", "sender_queues"]),
  id: Schema.Number,
  key: Schema.String,
  /** The last position in a chat. */
  received: Schema.Number
})
type KeyRow = typeof KeyRow.Type

const LockRequest = Schema.Struct({
  chats: Schema.Array(Schema.String),
  senders: Schema.Array(Schema.String)
})

/** Locked rows by key. */
interface LockedRows {
  readonly chats: ReadonlyMap<string, KeyRow>
  readonly senders: ReadonlyMap<string, KeyRow>
}

const EventKey = Schema.Struct({ platform: Schema.String, app: Schema.String, upstreamId: Schema.String })

const chatKey = ({ app, chatId, platform, tenant }: Inbound): string =>
  [platform, app, tenant, chatId].join(" ")
const eventKey = ({ app, platform, upstreamId }: typeof EventKey.Type): string =>
  [platform, app, upstreamId].join(" ")
/** One per sender, across all chats. An event without a sender is in the chat's queue. */
const queueKey = (inbound: Inbound): string => {
  const { app, platform, senderId, tenant } = inbound
  return senderId === "" ? `chat ${chatKey(inbound)}` : ["sender", platform, app, tenant, senderId].join(" ")
}
/** Message ids are unique within a chat. Empty without a card. */
const cardKey = (inbound: Inbound): string =>
  inbound.cardId === "" ? "" : `${chatKey(inbound)} ${inbound.cardId}`

/** An event's row, in the order of `ROW_COLUMNS`. */
const rowOf = (inbound: Inbound, chat: number, position: number, queue: number) =>
  [
    chat,
    position,
    queue,
    inbound.platform,
    inbound.app,
    inbound.upstreamId,
    inbound.tenant,
    inbound.kind,
    inbound.chatId,
    inbound.senderId,
    cardKey(inbound),
    inbound.body,
    new Date(inbound.receivedAt).toISOString()
  ] as const
type Row = ReturnType<typeof rowOf>

const ROW_COLUMNS =
  "chat, position, queue, platform, app, upstream_id, tenant, kind, chat_id, sender, card, body, received_at"

/** Sorted: two transactions lock rows in the same order. */
const sorted = (keys: Iterable<string>): ReadonlyArray<string> => [...new Set(keys)].sort()

/**
 * Query of the chats and queues with these keys, locked until the transaction ends, of chats first: `UNION ALL` reads its parts in their order. The
 * text of a statement does not depend on the number of events, so that PostgreSQL has it prepared.
 */
const makeLock = ({ at, sql }: TimedStore) => {
  const lock = queryRows({
    Request: LockRequest,
    Result: KeyRow,
    execute: ({ chats, senders }) => sql`
      WITH chat AS (
        INSERT INTO chats (key, received) SELECT key, 0 FROM unnest(${sorted(chats)}::text[]) AS key
        ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key RETURNING key, id, received
      ), sender AS (
        INSERT INTO sender_queues (key, due_at) SELECT key, ${at()}::timestamptz FROM unnest(${sorted(senders)}::text[]) AS key
        ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key RETURNING key, id
      )
      SELECT 'chats' AS table, key, id::float8 AS id, received::float8 AS received FROM chat
      UNION ALL SELECT 'sender_queues', key, id::float8, 0 FROM sender`
  })
  return (inbounds: ReadonlyArray<Inbound>): Effect.Effect<LockedRows, SqlError.SqlError> =>
    Effect.map(lock({ chats: inbounds.map(chatKey), senders: inbounds.map(queueKey) }), (rows) => {
      const of = (table: KeyRow["table"]) =>
        new Map(rows.filter((row) => row.table === table).map((row) => [row.key, row]))
      return { chats: of("chats"), senders: of("sender_queues") }
    })
}

/** Query of the keys of events that are stored. */
const makeStoredKeys = ({ sql }: TimedStore) => {
  const query = queryRows({
    Request: Schema.Array(EventKey),
    Result: EventKey,
    execute: (events) => sql`
      SELECT platform, app, upstream_id AS "upstreamId" FROM inbox
      WHERE platform = ANY(${sorted(events.map(({ platform }) => platform))}::text[])
        AND app = ANY(${sorted(events.map(({ app }) => app))}::text[])
        AND upstream_id = ANY(${events.map(({ upstreamId }) => upstreamId)}::text[])`
  })
  return (events: ReadonlyArray<Inbound>) => Effect.map(query(events), (rows) => new Set(rows.map(eventKey)))
}

interface Insertion {
  /** For each event: whether it is new. */
  readonly isNew: ReadonlyArray<boolean>
  readonly rows: ReadonlyArray<Row>
  /** New lengths of chats, by key. */
  readonly lengths: ReadonlyMap<string, number>
  readonly queues: ReadonlySet<number>
}

/** Rows of the events that are not stored yet. */
const planInsertion = (
  inbounds: ReadonlyArray<Inbound>,
  { chats, senders }: LockedRows,
  seen: Set<string>
): Insertion => {
  const lengths = new Map<string, number>()
  const queues = new Set<number>()
  const rows: Array<Row> = []
  const isNew = inbounds.map((inbound) => {
    const key = chatKey(inbound)
    const chat = chats.get(key)
    const queue = senders.get(queueKey(inbound))
    if (chat === undefined || queue === undefined || seen.has(eventKey(inbound))) return false
    seen.add(eventKey(inbound))
    const position = (lengths.get(key) ?? chat.received) + 1
    lengths.set(key, position)
    queues.add(queue.id)
    rows.push(rowOf(inbound, chat.id, position, queue.id))
    return true
  })
  return { isNew, rows, lengths, queues }
}

/** Adds the rows, and sets the lengths of their chats and the heads of their queues. Parts of one statement do not see what the others have written. */
const insertRows = ({ at, sql }: TimedStore, { lengths, queues, rows }: Insertion) => {
  const column = (index: number) => rows.map((row) => row[index])
  return sql`
    WITH added AS (
      INSERT INTO inbox (${sql.literal(ROW_COLUMNS)})
      SELECT chat, position, queue, platform, app, upstream_id, tenant, kind, chat_id, sender, nullif(card, ''), body, received_at
      FROM unnest(${column(0)}::bigint[], ${column(1)}::bigint[], ${column(2)}::bigint[], ${column(3)}::text[],
        ${column(4)}::text[], ${column(5)}::text[], ${column(6)}::text[], ${column(7)}::text[], ${column(8)}::text[],
        ${column(9)}::text[], ${column(10)}::text[], ${column(11)}::text[], ${column(12)}::timestamptz[]) AS event (${sql.literal(ROW_COLUMNS)})
      RETURNING queue, arrival
    ), grown AS (
      UPDATE chats SET received = lengths.received
      FROM unnest(${[...lengths.keys()]}::text[], ${[...lengths.values()]}::bigint[]) AS lengths (key, received)
      WHERE chats.key = lengths.key
    )
    UPDATE sender_queues q SET head = first.arrival, due_at = ${at()}
    FROM (
      SELECT queue, min(arrival) AS arrival FROM (
        SELECT queue, arrival FROM inbox WHERE queue = ANY(${[...queues]}::bigint[]) AND done_at IS NULL
        UNION ALL SELECT queue, arrival FROM added
      ) pending GROUP BY queue
    ) first WHERE q.id = first.queue AND q.head IS NULL`
}

/** Insertion of events in the current transaction. It returns for each event whether it is new. */
const makeInsertEvents = (store: TimedStore) => {
  const lock = makeLock(store)
  const storedKeys = makeStoredKeys(store)
  return Effect.fnUntraced(function* (
    inbounds: ReadonlyArray<Inbound>
  ): Effect.fn.Return<ReadonlyArray<boolean>, SqlError.SqlError> {
    const locked = yield* lock(inbounds)
    const insertion = planInsertion(inbounds, locked, yield* storedKeys(inbounds))
    if (insertion.rows.length > 0) yield* insertRows(store, insertion)
    return insertion.isNew
  })
}

const DAY_MS = 24 * 3_600_000
const RETENTION_MS = 7 * DAY_MS
/** Time for operators to read dead letters. */
const DEAD_LETTERS_MS = 30 * DAY_MS
const BATCH = 1_000

/** Events per transaction. */
const GROUP = 2_000
/** Platforms wait up to 3 seconds for the answer. */
const TIMEOUT = "2 seconds"

/** The store took longer than any platform waits. */
export class StoreSlow extends Data.TaggedError("StoreSlow") {}

export class Inbox extends Context.Service<
  Inbox,
  {
    /** Stores an event durably. False if it was stored before. */
    readonly store: (inbound: Inbound) => Effect.Effect<boolean, SqlError.SqlError | StoreSlow>
    /** Deletes events that were done a week ago, and dead letters after a month. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
    /** Fails if no event can be stored. */
    readonly probe: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Inbox") {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const store = yield* timedStore
      const queues = yield* SenderQueues
      const { at, sql } = store
      const insertEvents = makeInsertEvents(store)
      const storeEvent = yield* groupCommit(GROUP, (inbounds: ReadonlyArray<Inbound>) =>
        sql.withTransaction(insertEvents(inbounds)).pipe(
          Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(new StoreSlow()) }),
          Effect.tap(() => queues.wake)
        )
      )
      return Inbox.of({
        store: storeEvent,
        deleteOld: Effect.all(
          [
            deleteOlder(store, "inbox", "done_at", RETENTION_MS),
            deleteOlder(store, "dead_letters", "buried_at", DEAD_LETTERS_MS),
            Effect.suspend(
              () => sql`DELETE FROM sender_queues WHERE head IS NULL AND due_at < ${at(-RETENTION_MS)}`
            )
          ],
          { discard: true }
        ),
        // Another session can hold the inbox while the server takes writes.
        probe: Effect.andThen(probeWrites(sql), sql`SELECT 1 FROM inbox LIMIT 1 FOR UPDATE SKIP LOCKED`).pipe(
          Effect.asVoid
        )
      })
    })
  )
}

/** Deletes in batches, so that no statement locks many rows. */
const deleteOlder = (
  { at, sql }: TimedStore,
  table: "inbox" | "dead_letters",
  column: "done_at" | "buried_at",
  ageMs: number
) =>
  Effect.suspend(
    () => sql`
      DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} < ${at(-ageMs)} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`
  ).pipe(Effect.repeat({ until: (rows) => rows.length < BATCH }), Effect.asVoid)
