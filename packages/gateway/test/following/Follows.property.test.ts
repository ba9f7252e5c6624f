/** Followed messages that never end hold up those of no other account. */
import { MessageId, SessionId } from "@corral/domain/identity/Ids"
import { tries } from "@corral/testing/time/Effort"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { Follows } from "../../src/following/Follows.ts"
import { storeAt } from "../harness/GatewayStore.ts"

const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(26, "0")}`

const accountOf = (n: number) => ({ platform: "feishu", app: "cli_1", tenant: "t1", account: `ou_${n}` })

const makeRuntime = (url: string) => ManagedRuntime.make(Layer.provideMerge(Follows.layer, storeAt(url)))

describe("Follows", () => {
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

  /** Follows the messages of each account in turn, the first account's before all others. */
  const begin = (counts: ReadonlyArray<number>, from = 0) =>
    Effect.gen(function* () {
      const follows = yield* Follows
      let number = from
      for (const [account, count] of counts.entries())
        for (let i = 0; i < count; i++)
          yield* follows.begin({
            id: MessageId.make(idOf("msg", number++)),
            sessionId: SessionId.make(idOf("ses", number)),
            account: accountOf(account),
            chatId: "oc_1",
            replyTo: undefined,
            threadId: undefined,
            direct: true,
            language: "en",
            place: "site",
            isInput: false
          })
    })

  const leasedBy = (owner: string, max: number) =>
    Effect.gen(function* () {
      const leased = yield* (yield* Follows).lease(owner, max)
      return Map.groupBy(leased, ({ account }) => account.account)
    })

  it("gives each account its share of the messages that one Gateway follows, also when others came first", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 4, max: 12 }),
        async (counts, max) => {
          await runtime.runPromise(
            Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              yield* sql`DELETE FROM follows`
              // Messages of the first account fill every place, and never end.
              yield* begin([2 * max])
              assert.strictEqual((yield* leasedBy("gateway", max)).get("ou_0")?.length, max)
              yield* begin([0, ...counts], 1_000)
              const leased = yield* leasedBy("gateway", max)
              const share = Math.floor(max / (counts.length + 1))
              for (const [index, count] of counts.entries())
                assert.isAtLeast(leased.get(`ou_${index + 1}`)?.length ?? 0, Math.min(count, share))
              assert.strictEqual(
                [...leased.values()].flat().length,
                Math.min(max, 2 * max + counts.reduce((sum, count) => sum + count, 0))
              )
              // A second round keeps what the first one chose.
              assert.deepStrictEqual(yield* leasedBy("gateway", max), leased)
            })
          )
        }
      ),
      { numRuns: tries(10).arbitrary.runs }
    ))
})
