/** The fold of a run's events: the same whatever pieces they come in, whatever comes twice, and bounded. */
import { assert, describe, it } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import * as fc from "fast-check"
import { EventStreamText } from "../../src/run/EventStreamText.ts"
import { TEXT_KEPT } from "../../src/run/kept.ts"
import { RunFold, TEXTS_KEPT } from "../../src/run/RunFold.ts"

const texts = fc.string({ unit: "binary", maxLength: 40 })
const names = fc.constantFrom("a", "b", "c")

/** Type and payload of an event; some are of later versions, some are broken. */
const said = fc.oneof(
  fc
    .record({ messageId: names, text: texts, channel: fc.constantFrom("text", "reasoning") })
    .map((payload) => ({
      type: "run.message.delta",
      payload: { v: 1, ...payload }
    })),
  fc.record({ messageId: names, text: texts }).map((payload) => ({
    type: "run.message.completed",
    payload: { v: 1, role: "assistant", channel: "text", ...payload }
  })),
  fc.record({ callId: names, label: texts, input: fc.jsonValue() }).map((payload) => ({
    type: "run.tool.call",
    payload: { v: 1, tool: "shell", status: "started", ...payload }
  })),
  fc.record({ callId: names, output: texts }).map((payload) => ({
    type: "run.tool.result",
    payload: { v: 1, tool: "shell", status: "completed", ...payload }
  })),
  fc.record({ reason: names, attempt: fc.nat(9) }).map((payload) => ({
    type: "runtime.retrying",
    payload: { v: 1, ...payload }
  })),
  names.map((approvalId) => ({
    type: "run.approval.requested",
    payload: {
      v: 1,
      approvalId,
      expiresAt: "2030-01-01T00:00:00.000Z",
      request: { action: "shell", risk: "low", title: "Run", editable: false, scopes: ["once"] }
    }
  })),
  names.map((approvalId) => ({
    type: "run.approval.resolved",
    payload: { v: 1, approvalId, state: "denied" }
  })),
  fc
    .record({
      type: fc.constantFrom("run.later", "run.tool.call", "__proto__", "constructor"),
      v: fc.constantFrom(1, 2)
    })
    .map(({ type, v }) => ({ type, payload: { v } }))
)

const logOf = (events: ReadonlyArray<{ readonly type: string; readonly payload: object }>): Array<Envelope> =>
  events.map(
    (event, at) =>
      ({
        id: `evt_${at + 1}`,
        seq: at + 1,
        runId: "run_1",
        createdAt: "2026-01-01T00:00:00.000Z",
        ...event
      }) as Envelope // of the shape that the Hub sends
  )

const seen = ({ blocks, dropped, lastSeq, pending, state, unknown }: RunFold) =>
  structuredClone({ blocks, dropped, lastSeq, pending, state, unknown })

const folded = (...parts: ReadonlyArray<ReadonlyArray<Envelope>>): RunFold => {
  const fold = new RunFold()
  for (const part of parts) fold.take(part)
  return fold
}

describe("RunFold", () => {
  it("gives the same in whatever pieces the events come, and whatever comes again", () => {
    fc.assert(
      fc.property(
        fc.array(said, { maxLength: 60 }),
        fc.infiniteStream(fc.nat({ max: 9 })),
        (events, sizes) => {
          const log = logOf(events)
          const fold = new RunFold()
          for (let at = 0; at < log.length;) {
            const size = sizes.next().value
            const again = sizes.next().value
            fold.take(log.slice(Math.max(0, at - again), at + size))
            at += size
            fold.take(log.slice(0, at))
          }
          assert.deepStrictEqual(seen(fold), seen(folded(log)))
        }
      )
    )
  })

  it("has a block for each thing, in the order in which they began, each under a name of its own", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 60 }), (events) => {
        const { blocks, lastSeq } = folded(logOf(events))
        const seqs = blocks.map(({ seq }) => seq)
        assert.deepStrictEqual(
          seqs,
          [...new Set(seqs)].toSorted((a, b) => a - b)
        )
        assert.strictEqual(lastSeq, events.length)
      })
    )
  })

  it("reads the stream's text in whatever pieces it comes", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 20 }), fc.array(fc.nat({ max: 400 })), (events, cuts) => {
        const log = logOf(events)
        const text = log.map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n: \n\n`).join("")
        const reader = new EventStreamText()
        const read: Array<Envelope> = []
        let from = 0
        for (const cut of [...cuts, text.length]) {
          read.push(...reader.push(text.slice(from, from + cut)))
          from += cut
        }
        read.push(...reader.push(text.slice(from)))
        assert.deepStrictEqual(read, JSON.parse(JSON.stringify(log)))
      })
    )
  })

  it("keeps what it does not know and shows none of it", () => {
    const fold = folded(
      logOf([
        { type: "run.later", payload: { v: 1, text: "new" } },
        { type: "run.message.completed", payload: { v: 2, text: "other" } },
        { type: "run.tool.call", payload: { v: 1, callId: 7 } },
        { type: "constructor", payload: { v: 1 } }
      ])
    )
    assert.deepStrictEqual([fold.blocks.length, fold.unknown, fold.lastSeq], [0, 4, 4])
    assert.deepStrictEqual(
      fold.unknownEvents.map(({ type }) => type),
      ["run.later", "run.message.completed", "run.tool.call", "constructor"]
    )
  })

  it("marks what is missing, and never shows a partial message as a whole one", () => {
    const delta = {
      type: "run.message.delta",
      payload: { v: 1, messageId: "m", channel: "text", text: "he" }
    }
    const log = logOf([delta, delta, delta, delta])
    const fold = folded(log.slice(0, 1), log.slice(3))
    assert.deepStrictEqual(
      fold.blocks.map((block) => (block.kind === "message" ? [block.body.text, block.partial] : block.kind)),
      [["hehe", true], "gap"]
    )
    const done = {
      type: "run.message.completed",
      payload: { v: 1, messageId: "m", role: "assistant", channel: "text", text: "hello" }
    }
    const whole = folded(logOf([delta, done, delta]))
    assert.deepStrictEqual(
      whole.blocks.map((block) => block.kind === "message" && [block.body.text, block.partial]),
      [
        ["hello", false],
        ["he", true]
      ]
    )
  })

  it("bounds a message that never ends, and all texts together", () => {
    const delta = (messageId: string, text: string) => ({
      type: "run.message.delta",
      payload: { v: 1, messageId, channel: "text", text }
    })
    const long = folded(
      logOf(Array.from({ length: 5_000 }, (_, at) => delta("m", `${at} ${"x".repeat(60)}\n`)))
    )
    const [block] = long.blocks
    assert(block?.kind === "message")
    assert.isAtMost(block.body.text.length, TEXT_KEPT * 1.5)
    assert.isTrue(block.body.text.endsWith(`4999 ${"x".repeat(60)}\n`))
    assert.deepStrictEqual([block.body.from, block.body.to], [1, 5_000])
    assert.strictEqual(block.body.skipped + block.body.text.length, block.body.size)

    const many = folded(logOf(Array.from({ length: 1_500 }, (_, at) => delta(`m${at}`, "y".repeat(20_000)))))
    const kept = many.blocks.reduce(
      (sum, one) => sum + (one.kind === "message" ? one.body.text.length : 0),
      0
    )
    assert.isAtMost(kept, TEXTS_KEPT)
    const last = many.blocks.at(-1)
    assert.strictEqual(last?.kind === "message" && last.body.text.length, 20_000)
  })
})
