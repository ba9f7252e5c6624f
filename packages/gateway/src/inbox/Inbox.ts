/**
 * What came in and is not done. An event is kept once, by the platform's id for it, in one transaction with its turn in the queue: what was
 * kept will be worked off, and what was not kept was never there. It is known for a week after it is done; its body is not kept so long.
 *
 * It does not work anything off and knows no platform.
 */
import { Array as Arr, Clock, Context, Data, Effect, Layer } from "effect"
import type { PersistedQueue } from "effect/persistence"
import type { Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Inbound, InboundKind } from "../platform/ChatPlatform.ts"
import { groupCommit } from "./GroupCommit.ts"
import { type Turn, turnId, turnQueue } from "./Turns.ts"

export type KeepFailed = SqlError.SqlError | PersistedQueue.PersistedQueueError | Schema.SchemaError

interface InboxRow extends Omit<Inbound, "kind" | "receivedAt"> {
  readonly kind: InboundKind
  readonly receivedAt: Date
}

const DAY_MS = 24 * 3_600_000
const REMEMBERED_MS = 7 * DAY_MS
/** Somebody has to look at them. */
const BURIED_MS = 30 * DAY_MS
const BATCH = 1_000

/** Kept in one transaction at most. */
const GROUP = 2_000
/** By then nobody waits any more. */
const PATIENCE = "2 seconds"

/** The store took longer than anyone waits. */
export class StoreSlow extends Data.TaggedError("StoreSlow") {}

interface ChatRow {
  readonly id: number
  readonly key: string
  readonly received: number
  readonly done: number
}

const chatKey = ({ app, chatId, platform, tenant }: Inbound): string =>
  [platform, app, tenant, chatId].join(" ")
const eventKey = ({ app, platform, upstreamId }: Pick<Inbound, "platform" | "app" | "upstreamId">): string =>
  [platform, app, upstreamId].join(" ")

const rowOf = (inbound: Inbound, chat: number, position: number) => ({
  chat,
  position,
  platform: inbound.platform,
  app: inbound.app,
  upstream_id: inbound.upstreamId,
  tenant: inbound.tenant,
  kind: inbound.kind,
  chat_id: inbound.chatId,
  body: inbound.body,
  received_at: new Date(inbound.receivedAt)
})

export class Inbox extends Context.Service<
  Inbox,
  {
    /** Durable once it succeeds. False: it was there before. */
    readonly keep: (inbound: Inbound) => Effect.Effect<boolean, KeepFailed | StoreSlow>
    /** The event whose turn it is; undefined where that turn is over. */
    readonly at: (turn: Turn) => Effect.Effect<Inbound | undefined, SqlError.SqlError>
    /** Ends a turn and gives the next event of the chat its own. A turn that is over stays so. */
    readonly done: (turn: Turn) => Effect.Effect<void, KeepFailed>
    /** Ends a turn that came to nothing: the event goes to the dead letters, with a reason that repeats nothing of it. */
    readonly bury: (
      turn: Turn,
      why: { readonly reason: string; readonly attempts: number }
    ) => Effect.Effect<void, KeepFailed>
    /** Forgets what was done a week ago, and what was buried a month ago. */
    readonly forgetOld: Effect.Effect<void, SqlError.SqlError>
    /** Fails where nothing can be kept. */
    readonly probe: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Inbox") {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const turns = yield* turnQueue
      const ago = (millis: number) => new Date(clock.currentTimeMillisUnsafe() - millis)
      const offer = (turn: Turn) => turns.offer(turn, { id: turnId(turn) })

      /** The chats of some events, by key, locked until the transaction ends: in one order, whoever does it. */
      const lockChats = Effect.fnUntraced(function* (keys: ReadonlySet<string>) {
        const rows: Array<Record<string, unknown>> = [...keys]
          .sort()
          .map((key) => ({ key, received: 0, done: 0 }))
        if (!Arr.isArrayNonEmpty(rows)) return new Map<string, ChatRow>()
        const found = yield* sql<ChatRow>`
          INSERT INTO chats ${sql.insert(rows)} ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key
          RETURNING key, id::float8 AS id, received::float8 AS received, done::float8 AS done`
        return new Map(found.map((chat) => [chat.key, chat]))
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
        const chats = yield* lockChats(new Set(inbounds.map(chatKey)))
        const seen = yield* known(inbounds)
        const grown = new Map<string, ChatRow>()
        const rows: Array<Record<string, unknown>> = []
        const fresh = inbounds.map((inbound) => {
          const key = chatKey(inbound)
          const chat = grown.get(key) ?? chats.get(key)
          if (chat === undefined || seen.has(eventKey(inbound))) return false
          seen.add(eventKey(inbound))
          const received = chat.received + 1
          grown.set(key, { ...chat, received })
          rows.push(rowOf(inbound, chat.id, received))
          return true
        })
        const lengths: Array<Record<string, unknown>> = [...grown.values()].map(({ key, received }) => ({
          key,
          received,
          done: 0
        }))
        if (!Arr.isArrayNonEmpty(rows) || !Arr.isReadonlyArrayNonEmpty(lengths)) return fresh
        yield* sql`INSERT INTO inbox ${sql.insert(rows)}`
        yield* sql`
          INSERT INTO chats ${sql.insert(lengths)}
          ON CONFLICT (key) DO UPDATE SET received = EXCLUDED.received`
        // A chat that had something to do has its turn already.
        const idle = [...grown.values()].filter(({ done, key }) => chats.get(key)?.received === done)
        yield* Effect.forEach(idle, ({ done, id }) => offer({ chat: id, position: done + 1 }), {
          concurrency: "unbounded",
          discard: true
        })
        return fresh
      })
      const keep = yield* groupCommit(GROUP, (inbounds: ReadonlyArray<Inbound>) =>
        sql
          .withTransaction(insert(inbounds))
          .pipe(Effect.timeoutOrElse({ duration: PATIENCE, orElse: () => Effect.fail(new StoreSlow()) }))
      )

      const end = Effect.fnUntraced(function* ({ chat, position }: Turn) {
        const [moved] = yield* sql<{ readonly received: number }>`
          UPDATE chats SET done = ${position} WHERE id = ${chat} AND done = ${position - 1}
          RETURNING received::float8 AS received`
        if (moved === undefined) return false
        if (moved.received > position) yield* offer({ chat, position: position + 1 })
        return true
      })
      const strike = ({ chat, position }: Turn) => sql`
        UPDATE inbox SET body = NULL, done_at = ${ago(0)} WHERE chat = ${chat} AND position = ${position}`

      /** In parts, so that nobody waits long for the rows. */
      const forget = (table: "inbox" | "dead_letters", column: "done_at" | "buried_at", millis: number) =>
        sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} < ${ago(millis)} LIMIT ${BATCH}
          )) RETURNING 1`.pipe(Effect.repeat({ until: (rows) => rows.length < BATCH }), Effect.asVoid)

      return Inbox.of({
        keep,
        at: Effect.fnUntraced(function* ({ chat, position }) {
          const [row] = yield* sql<InboxRow>`
            SELECT i.platform, i.app, i.tenant, i.upstream_id AS "upstreamId", i.kind, i.chat_id AS "chatId", i.body,
              i.received_at AS "receivedAt"
            FROM chats c JOIN inbox i ON i.chat = c.id AND i.position = c.done + 1
            WHERE c.id = ${chat} AND c.done = ${position - 1} AND i.body IS NOT NULL`
          return row === undefined ? undefined : { ...row, receivedAt: row.receivedAt.getTime() }
        }),
        done: (turn) =>
          Effect.gen(function* () {
            if (yield* end(turn)) yield* strike(turn)
          }).pipe(sql.withTransaction),
        bury: (turn, { attempts, reason }) =>
          sql
            .withTransaction(
              Effect.gen(function* () {
                if (!(yield* end(turn))) return
                yield* sql`
                  INSERT INTO dead_letters
                    (platform, app, upstream_id, tenant, kind, chat_id, body, reason, attempts, received_at, buried_at)
                  SELECT platform, app, upstream_id, tenant, kind, chat_id, body, ${reason}, ${attempts}::int, received_at,
                    ${ago(0)}::timestamptz
                  FROM inbox WHERE chat = ${turn.chat} AND position = ${turn.position}
                  ON CONFLICT DO NOTHING`
                yield* strike(turn)
              })
            )
            .pipe(Effect.asVoid),
        forgetOld: Effect.andThen(
          forget("inbox", "done_at", REMEMBERED_MS),
          forget("dead_letters", "buried_at", BURIED_MS)
        ),
        // A server that only reads, a standby, would answer anything else.
        probe: sql`SELECT 1 FROM inbox LIMIT 1 FOR UPDATE SKIP LOCKED`.pipe(Effect.asVoid)
      })
    })
  )
}
