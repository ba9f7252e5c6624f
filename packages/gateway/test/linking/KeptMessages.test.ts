import { assert, describe, it } from "@effect/vitest"
import { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ChatSessions } from "../../src/conversation/Conversations.ts"
import { KeptMessages } from "../../src/linking/KeptMessages.ts"
import type { Inbound } from "../../src/platform/ChatPlatform.ts"
import { emptyDatabase, storeAt } from "../harness/GatewayStore.ts"

const account = { platform: "feishu", app: "cli_1", tenant: "t_1", account: "ou_ada" }

const inbound = (text: string): Inbound => ({
  platform: "feishu",
  app: "cli_1",
  tenant: "t_1",
  upstreamId: "ev_1",
  kind: "message",
  chatId: "oc_1",
  senderId: "ou_ada",
  cardId: "",
  body: JSON.stringify({ text }),
  receivedAt: 1_790_000_000_000
})

const withSecret = (secret: string) => KeptMessages.layer(Redacted.make(secret))

describe("KeptMessages", () => {
  it.live("keeps the first message of an account, encrypted, for a day, up to a size", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const messages = yield* KeptMessages
        assert.isFalse(yield* messages.keep(account, inbound("x".repeat(65_536))))
        assert.isTrue(yield* messages.keep(account, inbound("a secret plan")))
        assert.isTrue(yield* messages.keep(account, inbound("another")))
        assert.deepStrictEqual(yield* messages.find(account), inbound("a secret plan"))
        assert.isUndefined(yield* messages.find({ ...account, account: "ou_bo" }))
        const [row] = yield* sql`SELECT encode(sealed, 'escape') AS text FROM kept_messages`
        assert.notInclude(String(row?.["text"]), "plan")
        // Not with another secret, and not as the message of another account.
        const other = Effect.flatMap(KeptMessages, ({ find }) => find(account))
        assert.isUndefined(yield* Effect.provide(other, Layer.fresh(withSecret("another"))))
        yield* sql`UPDATE kept_messages SET key = 'feishu/cli_1/t_1/ou_bo'`
        assert.isUndefined(yield* messages.find({ ...account, account: "ou_bo" }))
        yield* sql`UPDATE kept_messages SET kept_at = kept_at - interval '1 day', key = 'feishu/cli_1/t_1/ou_ada'`
        assert.isUndefined(yield* messages.find(account))
        assert.isTrue(yield* messages.keep(account, inbound("a day later")))
        assert.deepStrictEqual(yield* messages.find(account), inbound("a day later"))
        yield* sql`UPDATE kept_messages SET kept_at = kept_at - interval '1 day'`
        yield* messages.deleteOld
        assert.deepStrictEqual(yield* sql`SELECT key FROM kept_messages`, [])
      }).pipe(Effect.provide(withSecret("the token").pipe(Layer.provideMerge(storeAt(url)))))
    })
  )
})

describe("ChatSessions", () => {
  it.live("gives a thread the session of the first user who claims it", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* Effect.gen(function* () {
        const sessions = yield* ChatSessions
        const of = (digit: string) => ({
          session: {
            id: SessionId.make(`ses_${digit.repeat(26)}`),
            projectId: ProjectId.make(`prj_${"0".repeat(26)}`)
          }
        })
        const found = yield* Effect.forEach(["1", "2", "3"], (digit) => sessions.claim("thread", of(digit)), {
          concurrency: 3
        })
        assert.strictEqual(new Set(found.map(({ session }) => session?.id)).size, 1)
        yield* sessions.set("thread", {})
        assert.strictEqual((yield* sessions.claim("thread", of("4"))).session?.id, `ses_${"4".repeat(26)}`)
      }).pipe(Effect.provide(ChatSessions.layer.pipe(Layer.provide(storeAt(url)))))
    })
  )
})
