/** A thousand lost connections at random times, with random positions: every event arrives, and none twice. */
import { ROOT } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { servedSession } from "./HostServer.ts"

const RECONNECTS = 1_000
const SEED = Number(process.env["CORRAL_SEED"] ?? 47)

interface Received {
  readonly serverSeq: number
  readonly action: { readonly content?: string; readonly part?: { readonly content?: string } }
}

describe("the agent host", { timeout: 600_000 }, () => {
  it.live("1,000 reconnects at random positions lose nothing and repeat nothing", () =>
    Effect.gen(function* () {
      const { chat, id, server, services } = yield* servedSession
      const run = services.newRun(id, "count")
      const clientId = "soak"
      const first = yield* server.open("/", { clientId })
      yield* Effect.promise(() => first.subscribe(chat))
      const seen = new Map<number, string>()
      const note = (actions: ReadonlyArray<Received>) => {
        for (const { action, serverSeq } of actions) {
          const content = action.content ?? action.part?.content ?? ""
          assert.strictEqual(seen.get(serverSeq) ?? content, content)
          seen.set(serverSeq, content)
        }
      }
      let client = first
      let count = 0
      const cuts = fc.sample(fc.tuple(fc.nat(5), fc.nat(20)), { numRuns: RECONNECTS, seed: SEED })
      const emitTexts = (times: number) => {
        for (let n = 0; n < times; n++)
          services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text: `${++count} ` })
      }
      emitTexts(1)
      yield* Effect.promise(() => client.action("chat/responsePart"))
      let position = client.lastSeq
      note(client.actions as ReadonlyArray<Received>)
      for (const [meanwhile, back] of cuts) {
        emitTexts(meanwhile)
        yield* Effect.promise(() => client.call("ping"))
        note(client.actions as ReadonlyArray<Received>)
        position = Math.max(position, client.lastSeq)
        client.drop()
        emitTexts(meanwhile)
        client = yield* server.connect("/", { clientId })
        // Any earlier position that the client can have.
        const lastSeenServerSeq = Math.max(position - back, Math.min(...seen.keys(), position))
        const { actions = [], type } = yield* Effect.promise(() =>
          client.call("reconnect", { clientId, lastSeenServerSeq, subscriptions: [ROOT, chat] })
        )
        assert.strictEqual(type, "replay")
        const replayed = actions as ReadonlyArray<Received>
        note(replayed)
        position = Math.max(position, ...replayed.map(({ serverSeq }) => serverSeq))
      }
      emitTexts(1)
      yield* Effect.promise(() => client.action(({ action }) => action["content"] === `${count} `))
      note(client.actions as ReadonlyArray<Received>)
      const texts = [...seen].toSorted(([a], [b]) => a - b).map(([, content]) => content)
      const expected = Array.from({ length: count }, (_, n) => `${n + 1} `).join("")
      assert.strictEqual(texts.join(""), expected)
    })
  )
})
