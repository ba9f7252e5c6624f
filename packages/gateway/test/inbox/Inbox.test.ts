import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { dropDatabase, makeDatabase, sharedServer } from "../../../hub/test/harness/SharedPostgres.ts"
import { defaults } from "../../src/GatewayConfig.ts"
import { Inbox } from "../../src/inbox/Inbox.ts"
import type { Inbound } from "../../src/platform/ChatPlatform.ts"
import * as Database from "../../src/store/Database.ts"

const inbound = (upstreamId: string, chatId = "oc_1"): Inbound => ({
  platform: "feishu",
  app: "cli_1",
  tenant: "t_1",
  upstreamId,
  kind: "message",
  chatId,
  body: `{"of":"${upstreamId}"}`,
  receivedAt: 1_790_000_000_000
})

describe("Inbox", { timeout: 60_000 }, () => {
  const onDatabase = <A, E>(use: Effect.Effect<A, E, Inbox | SqlClient.SqlClient>) =>
    Effect.gen(function* () {
      const url = yield* Effect.acquireRelease(
        Effect.promise(async () => makeDatabase(await sharedServer(), { prepared: false })),
        (made) => Effect.promise(() => dropDatabase(made))
      )
      const databaseUrl = Redacted.make(url)
      const layer = Layer.provideMerge(Inbox.layer, Database.layer({ ...defaults, databaseUrl }))
      return yield* Effect.provide(use, layer)
    })

  it.live("keeps what comes together in one row of its chat, and the same once", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const ids = Array.from({ length: 60 }, (_, i) => `ev_${i % 40}`)
        const fresh = yield* Effect.forEach(ids, (id) => inbox.keep(inbound(id, `oc_${id.length}`)), {
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
        const turns = yield* sql`SELECT id FROM turns`
        assert.strictEqual(turns.length, 2)
      })
    )
  )

  it.live("ends a turn once, and gives the next one", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const sql = yield* SqlClient.SqlClient
        for (const id of ["ev_1", "ev_2"]) yield* inbox.keep(inbound(id))
        const [chat] = yield* sql<{ readonly id: number }>`SELECT id::int AS id FROM chats`
        const turn = (position: number) => ({ chat: chat?.id ?? 0, position })
        assert.deepStrictEqual(yield* inbox.at(turn(1)), inbound("ev_1"))
        assert.isUndefined(yield* inbox.at(turn(2)))
        yield* Effect.all([inbox.done(turn(1)), inbox.done(turn(1)), inbox.done(turn(2))], { discard: true })
        assert.isUndefined(yield* inbox.at(turn(2)))
        const turns = yield* sql<{ readonly id: string }>`SELECT id FROM turns ORDER BY sequence`
        assert.deepStrictEqual(
          turns.map(({ id }) => id),
          [`${chat?.id}:1`, `${chat?.id}:2`]
        )
      })
    )
  )

  it.live("forgets what was done a week ago, and nothing that waits", () =>
    onDatabase(
      Effect.gen(function* () {
        const inbox = yield* Inbox
        const sql = yield* SqlClient.SqlClient
        for (const id of ["ev_1", "ev_2", "ev_3"]) yield* inbox.keep(inbound(id))
        const [chat] = yield* sql<{ readonly id: number }>`SELECT id::int AS id FROM chats`
        for (const position of [1, 2]) yield* inbox.done({ chat: chat?.id ?? 0, position })
        yield* sql`UPDATE inbox SET done_at = done_at - interval '169 hours' WHERE position = 1`
        yield* sql`UPDATE inbox SET received_at = received_at - interval '1 year' WHERE position = 3`
        yield* inbox.forgetOld
        const left = yield* sql<{
          readonly id: string
        }>`SELECT upstream_id AS id FROM inbox ORDER BY position`
        assert.deepStrictEqual(
          left.map(({ id }) => id),
          ["ev_2", "ev_3"]
        )
        assert.isFalse(yield* inbox.keep(inbound("ev_2")))
        assert.isTrue(yield* inbox.keep(inbound("ev_1")))
      })
    )
  )
})
