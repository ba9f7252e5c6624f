import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Inbox } from "../../src/inbox/Inbox.ts"
import type { Inbound } from "../../src/platform/ChatPlatform.ts"
import { SenderQueues } from "../../src/inbox/SenderQueues.ts"
import { emptyDatabase, storeAt } from "../harness/GatewayStore.ts"

const inbound = (upstreamId: string, chatId = "oc_1"): Inbound => ({
  platform: "feishu",
  app: "cli_1",
  tenant: "t_1",
  upstreamId,
  kind: "message",
  chatId,
  senderId: "ou_ada",
  cardId: "",
  body: `{"of":"${upstreamId}"}`,
  receivedAt: 1_790_000_000_000
})

describe("Inbox", () => {
  const onDatabase = <A, E>(use: Effect.Effect<A, E, Inbox | SenderQueues | SqlClient.SqlClient>) =>
    Effect.gen(function* () {
      const layer = Layer.provideMerge(Inbox.layer, SenderQueues.layer).pipe(
        Layer.provideMerge(storeAt(yield* emptyDatabase))
      )
      return yield* Effect.provide(use, layer)
    })

  it.live("keeps what comes together in one row of its chat, and the same once", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const ids = Array.from({ length: 60 }, (_, i) => `ev_${i % 40}`)
        const fresh = yield* Effect.forEach(ids, (id) => inbox.store(inbound(id, `oc_${id.length}`)), {
          concurrency: "unbounded"
        })
        assert.strictEqual(fresh.filter((each) => each).length, 40)
        const sql = yield* SqlClient.SqlClient
        const chats = yield* sql`
          SELECT c.received::int AS received, count(i.*)::int AS kept, max(i.position)::int AS last
          FROM chats c JOIN inbox i ON i.chat = c.id GROUP BY c.id ORDER BY 1`
        assert.deepStrictEqual(chats, [
          { received: 10, kept: 10, last: 10 },
          { received: 30, kept: 30, last: 30 }
        ])
        const heads = yield* sql`
          SELECT count(*)::int AS queues FROM sender_queues q
          WHERE head = (SELECT min(arrival) FROM inbox WHERE queue = q.id)`
        assert.deepStrictEqual(heads, [{ queues: 1 }])
      })
    )
  )

  it.live("hands out the events of a sender one at a time, and ends each once", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const queues = yield* SenderQueues
        const claim = queues.claim("a", { free: 10, perChat: 10 })
        for (const id of ["ev_1", "ev_2"]) yield* inbox.store(inbound(id))
        const [first, ...more] = yield* claim
        if (first === undefined) return assert.fail("no event")
        assert.isEmpty(more)
        assert.deepStrictEqual(first.inbound, inbound("ev_1"))
        assert.isEmpty(yield* claim)
        yield* queues.complete("b", first)
        assert.isEmpty(yield* claim)
        yield* Effect.all([queues.complete("a", first), queues.complete("a", first)], { discard: true })
        const [second] = yield* claim
        assert.strictEqual(second?.inbound.upstreamId, "ev_2")
        assert.strictEqual(second?.position, 2)
      })
    )
  )

  it.live("limits messages and clicks of a chat separately, so neither delays the other", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const queues = yield* SenderQueues
        const claim = Effect.map(queues.claim("a", { free: 10, perChat: 4 }), (events) =>
          events.map((event) => event.inbound.upstreamId).toSorted()
        )
        for (const at of [1, 2, 3, 4, 5])
          yield* inbox.store({ ...inbound(`message_${at}`), senderId: `ou_m${at}`, cardId: "" })
        assert.deepStrictEqual(yield* claim, ["message_1", "message_2", "message_3"])
        for (const at of [1, 2])
          yield* inbox.store({ ...inbound(`click_${at}`), senderId: `ou_c${at}`, cardId: `om_${at}` })
        assert.deepStrictEqual(yield* claim, ["click_1"])
        assert.isEmpty(yield* claim)
      })
    )
  )

  it.live("forgets what was done a week ago, and nothing that waits", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const sql = yield* SqlClient.SqlClient
        for (const id of ["ev_1", "ev_2", "ev_3"]) yield* inbox.store(inbound(id))
        const queues = yield* SenderQueues
        for (const _ of [1, 2])
          for (const event of yield* queues.claim("a", { free: 1, perChat: 2 }))
            yield* queues.complete("a", event)
        yield* sql`UPDATE inbox SET done_at = done_at - interval '169 hours' WHERE position = 1`
        yield* sql`UPDATE inbox SET received_at = received_at - interval '1 year' WHERE position = 3`
        yield* inbox.deleteOld
        const left = yield* sql<{
          readonly id: string
        }>`SELECT upstream_id AS id FROM inbox ORDER BY position`
        assert.deepStrictEqual(
          left.map(({ id }) => id),
          ["ev_2", "ev_3"]
        )
        assert.isFalse(yield* inbox.store(inbound("ev_2")))
        assert.isTrue(yield* inbox.store(inbound("ev_1")))
      })
    )
  )
})
