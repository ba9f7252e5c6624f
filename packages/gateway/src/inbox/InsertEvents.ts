/**
 * Insertion of received events: each is stored once, with its position in its chat and its place in its sender's queue.
 *
 * Guarantees: positions in a chat are dense, and commit in their order, because the chat is locked.
 */
import { Array as Arr, Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { queryRows } from "../store/RowQueries.ts"
import type { TimedStore } from "../store/TimedStore.ts"

type Rows = Array<Record<string, unknown>>

/** Codec of the tables `chats` and `sender_queues`. */
const KeyRow = Schema.Struct({
  id: Schema.Number,
  key: Schema.String,
  /** The last position in a chat. */
  received: Schema.Number
})
type KeyRow = typeof KeyRow.Type

const LockRequest = Schema.Struct({
  table: Schema.Literals(["chats", "sender_queues"]),
  keys: Schema.Array(Schema.String)
})

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

/** Query of rows by key, locked until the transaction ends. Locks are taken in the order of the keys. */
const makeLock = ({ at, sql }: TimedStore) => {
  const lock = queryRows({
    Request: LockRequest,
    Result: KeyRow,
    execute: ({ keys, table }) => {
      const isChat = table === "chats"
      const initial = isChat ? { received: 0 } : { due_at: at() }
      const rows: Rows = [...keys].sort().map((key) => ({ key, ...initial }))
      const received = sql.literal(isChat ? "received::float8" : "0")
      return Arr.isArrayNonEmpty(rows)
        ? sql`
          INSERT INTO ${sql(table)} ${sql.insert(rows)} ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key
          RETURNING key, id::float8 AS id, ${received} AS received`
        : Effect.succeed([])
    }
  })
  return (table: (typeof LockRequest.Type)["table"], keys: ReadonlyArray<string>) =>
    Effect.map(
      lock({ table, keys: [...new Set(keys)] }),
      (rows): ReadonlyMap<string, KeyRow> => new Map(rows.map((row) => [row.key, row]))
    )
}

/** Query of the keys of events that are stored. */
const makeStoredKeys = ({ sql }: TimedStore) => {
  const query = queryRows({
    Request: Schema.Array(EventKey),
    Result: EventKey,
    execute: (events) => sql`
      SELECT platform, app, upstream_id AS "upstreamId" FROM inbox
      WHERE ${sql.in("platform", [...new Set(events.map(({ platform }) => platform))])}
        AND ${sql.in("app", [...new Set(events.map(({ app }) => app))])}
        AND ${sql.in("upstream_id", [...new Set(events.map(({ upstreamId }) => upstreamId))])}`
  })
  return (events: ReadonlyArray<Inbound>) => Effect.map(query(events), (rows) => new Set(rows.map(eventKey)))
}

interface Insertion {
  /** For each event: whether it is new. */
  readonly isNew: ReadonlyArray<boolean>
  readonly rows: Rows
  /** The chats with their new lengths. */
  readonly lengths: Rows
  readonly queues: ReadonlySet<number>
}

/** Rows of the events that are not stored yet. */
const planInsertion = (
  inbounds: ReadonlyArray<Inbound>,
  chats: ReadonlyMap<string, KeyRow>,
  senders: ReadonlyMap<string, KeyRow>,
  seen: Set<string>
): Insertion => {
  const lengths = new Map<string, number>()
  const queues = new Set<number>()
  const rows: Rows = []
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
  return { isNew, rows, lengths: [...lengths].map(([key, received]) => ({ key, received })), queues }
}

/** Insertion of events in the current transaction. It returns for each event whether it is new. */
export const makeInsertEvents = (store: TimedStore) => {
  const { at, sql } = store
  const lock = makeLock(store)
  const storedKeys = makeStoredKeys(store)
  return Effect.fnUntraced(function* (
    inbounds: ReadonlyArray<Inbound>
  ): Effect.fn.Return<ReadonlyArray<boolean>, SqlError.SqlError> {
    const chats = yield* lock("chats", inbounds.map(chatKey))
    const senders = yield* lock("sender_queues", inbounds.map(queueKey))
    const seen = yield* storedKeys(inbounds)
    const { isNew, lengths, queues, rows } = planInsertion(inbounds, chats, senders, seen)
    if (!Arr.isArrayNonEmpty(rows) || !Arr.isArrayNonEmpty(lengths)) return isNew
    yield* sql`INSERT INTO inbox ${sql.insert(rows)}`
    yield* sql`
      INSERT INTO chats ${sql.insert(lengths)}
      ON CONFLICT (key) DO UPDATE SET received = EXCLUDED.received`
    yield* sql`
      UPDATE sender_queues q SET head = first.arrival, due_at = ${at()}
      FROM (
        SELECT queue, min(arrival) AS arrival FROM inbox
        WHERE ${sql.in("queue", [...queues])} AND done_at IS NULL GROUP BY queue
      ) first WHERE q.id = first.queue AND q.head IS NULL`
    return isNew
  })
}
