/** What a turn guarantees for every adapter, on any pieces. */
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { tries } from "@corral/testing/time/Effort"
import { deltasJoin } from "@corral/conformance/Invariants"
import { OutputCollector } from "../../src/output/OutputCollector.ts"

const Pieces = Schema.Array(
  Schema.Struct({
    unit: Schema.Literals(["a", "word ", "\n", "日本", "👩‍🚀 "]),
    times: Schema.Literals([0, 1, 7, 40_000, 300_000]),
    wasRead: Schema.Boolean
  })
)

const textOf = (pieces: typeof Pieces.Type) => pieces.map(({ times, unit }) => unit.repeat(times)).join("")

describe("a message", () => {
  it.prop(
    "streams the rest of its text when it completes after some of its first pieces",
    [Pieces],
    ([pieces]) => {
      const turn = new OutputCollector()
      const missing = pieces.findIndex(({ wasRead }) => !wasRead)
      const read = missing === -1 ? pieces : pieces.slice(0, missing)
      for (const piece of read)
        turn.emitEvent(
          draft("run.message.delta", { messageId: "one", channel: "text", text: textOf([piece]) })
        )
      const text = textOf(pieces)
      turn.emitEvent(
        draft("run.message.completed", { messageId: "one", role: "assistant", channel: "text", text })
      )
      const outputs = turn.takeOutputs()
      assert.deepStrictEqual(deltasJoin(outputs), [])
      const streamed = outputs.filter(
        (output) => output._tag === "Event" && output.event.type === "run.message.delta"
      )
      // A short message of which nothing was streamed needs no delta.
      if (read.length === 0) return
      const isShort = textOf(read).length < text.length
      assert.strictEqual(streamed.length, read.length + (isShort ? 1 : 0))
    },
    tries(100)
  )

  it("adds no delta when its completed text differs from the streamed text", () => {
    const turn = new OutputCollector()
    turn.emitEvent(draft("run.message.delta", { messageId: "one", channel: "text", text: "Hallo" }))
    turn.emitEvent(
      draft("run.message.completed", {
        messageId: "one",
        role: "assistant",
        channel: "text",
        text: "Hello, all of you"
      })
    )
    assert.strictEqual(turn.takeOutputs().length, 2)
  })
})
