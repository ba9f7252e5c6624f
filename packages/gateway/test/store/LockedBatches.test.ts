/** Passes of a Gateway whose batch is full of rows that another program holds: the rows after them are reached. */
import { MessageId, SessionId } from "@corral/domain/identity/Ids"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Client } from "pg"
import { Follows } from "../../src/following/Follows.ts"
import { makeClaimNotices } from "../../src/handling/Notices.ts"
import { Inbox, type StoreSlow } from "../../src/inbox/Inbox.ts"
import { SenderQueues } from "../../src/inbox/SenderQueues.ts"
import type { Inbound } from "../../src/platform/ChatPlatform.ts"
import { timedStore } from "../../src/store/RowQueries.ts"
import { storeAt } from "../harness/GatewayStore.ts"

const makeRuntime = (url: string) =>
  ManagedRuntime.make(
    Layer.mergeAll(Follows.layer, Layer.provideMerge(Inbox.layer, SenderQueues.layer)).pipe(
      Layer.provideMerge(storeAt(url))
    )
  )

/** More than the batch of each pass but that of the deletion, which is filled by rows of a statement. */
const HELD = 40
const DELETED = 1_100

const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(26, "0")}`

const inbound = (n: number): Inbound => ({
  platform: "feishu",
  app: "cli_1",
  tenant: "t_1",
  upstreamId: `ev_${n}`,
  kind: "message",
  chatId: `oc_${n}`,
  senderId: `ou_${n}`,
  cardId: "",
  body: "{}",
  receivedAt: 1_790_000_000_000 + n
})

const follow = (n: number) => ({
  id: MessageId.make(idOf("msg", n)),
  sessionId: SessionId.make(idOf("ses", n)),
  account: { platform: "feishu", app: "cli_1", tenant: "t1", account: `ou_${n}` },
  chatId: "oc_1",
  replyTo: undefined,
  threadId: undefined,
  direct: true,
  language: "en" as const,
  place: "site",
  isInput: false
})

describe("A batch of rows that another program holds", () => {
  let url: string
  let runtime: ReturnType<typeof makeRuntime>
  beforeAll(async () => {
    url = await makeDatabase(await sharedServer(), { prepared: false })
    runtime = makeRuntime(url)
  })
  afterAll(async () => {
    await runtime.dispose()
    await dropDatabase(url)
  })

  /** Runs `pass` while all rows that the table has at the end of `fill` are held, with those that `more` adds. */
  const whileHeld = async <A>(
    table: string,
    fill: Work<unknown>,
    more: Work<unknown>,
    pass: Work<A>
  ): Promise<A> => {
    await runtime.runPromise(fill)
    const holder = new Client({ connectionString: url })
    await holder.connect()
    try {
      await holder.query("SET search_path = corral_gateway")
      await holder.query("BEGIN")
      await holder.query(`SELECT 1 FROM ${table} FOR UPDATE`)
      return await runtime.runPromise(Effect.andThen(more, pass))
    } finally {
      await holder.end()
    }
  }
  type Work<A> = Effect.Effect<
    A,
    SqlError.SqlError | StoreSlow,
    Follows | Inbox | SenderQueues | SqlClient.SqlClient
  >

  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

  it("holds up no followed message: Follows", async () => {
    const begin = (each: ReadonlyArray<number>) =>
      Effect.flatMap(Follows, (follows) => Effect.forEach(each, (n) => follows.begin(follow(n))))
    const leased = await whileHeld(
      "follows",
      begin(numbers(HELD)),
      begin([HELD]),
      Effect.flatMap(Follows, (follows) => follows.lease("gateway", HELD / 2))
    )
    assert.deepStrictEqual(
      leased.map(({ id }) => id),
      [follow(HELD).id]
    )
  })

  it("holds up no event: SenderQueues", async () => {
    const store = (each: ReadonlyArray<number>) =>
      Effect.flatMap(Inbox, (inbox) => Effect.forEach(each, (n) => inbox.store(inbound(n))))
    const claimed = await whileHeld(
      "sender_queues",
      store(numbers(HELD)),
      store([HELD]),
      Effect.flatMap(SenderQueues, (queues) => queues.claim("gateway", { free: HELD / 2, perChat: 4 }))
    )
    assert.deepStrictEqual(
      claimed.map((event) => event.inbound.upstreamId),
      [inbound(HELD).upstreamId]
    )
  })

  const bury = (from: number, count: number) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.unsafe(`
        INSERT INTO dead_letters (platform, app, tenant, upstream_id, kind, chat_id, sender, body, reason, attempts, received_at, buried_at, tell_at)
        SELECT 'feishu', 'cli_1', 't_1', 'ev_' || n, 'message', 'oc_1', 'ou_1', '{}', 'x', 1, now() - interval '90 days',
          now() - interval '90 days', now() - interval '1 day' + n * interval '1 second'
        FROM generate_series(${from}, ${from + count - 1}) AS n`)
    )

  it("holds up no notice: Notices", async () => {
    const claim = Effect.flatMap(timedStore, (store) => makeClaimNotices(store)(undefined))
    const claimed = await whileHeld("dead_letters", bury(0, HELD), bury(HELD, 1), claim)
    assert.deepStrictEqual(
      claimed.map(({ upstreamId }) => upstreamId),
      [`ev_${HELD}`]
    )
  })

  it("holds up no deletion: Inbox", async () => {
    const left = await whileHeld(
      "dead_letters",
      bury(1_000, DELETED),
      bury(10_000, 1),
      Effect.gen(function* () {
        yield* (yield* Inbox).deleteOld
        const sql = yield* SqlClient.SqlClient
        return yield* sql`SELECT 1 FROM dead_letters WHERE upstream_id = 'ev_10000'`
      })
    )
    assert.lengthOf(left, 0)
  })
})
