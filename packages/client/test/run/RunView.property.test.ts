/** Reader and view of a run: independent of how the stream is cut and of repeated events, and bounded. */
import { assert, describe, it } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import * as fc from "fast-check"
import { ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import { MAX_TEXT } from "@corral/domain/run/BlockList"
import { MAX_KEPT_TEXT } from "@corral/domain/run/RunBlock"
import { envelopeOf, EventSequence } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"
import { checkStepCosts } from "@corral/testing/recordings/CrowdedRun"
import { decodeEventFields } from "../../src/run/EventFields.ts"

const texts = fc.string({ unit: "binary", maxLength: 40 })
const names = fc.constantFrom("a", "b", "c")

/** Type and payload of an event; some are of later versions, some are broken. */
const messageEvent = fc.oneof(
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
    .record({ type: fc.constantFrom("run.paused", "run.resumed"), by: names, reason: texts })
    .map(({ type, ...payload }) => ({ type, payload: { v: 1, ...payload } })),
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

const seen = ({ blocks, dropped, isPaused, lastSeq, pending, state, unknown }: RunView) =>
  structuredClone({ blocks, dropped, isPaused, lastSeq, pending, state, unknown })

/** A view and the function that applies received events to it. */
const emptyView = () => {
  const view = new RunView()
  const sequence = new EventSequence(decodeEventFields)
  const receive = (events: ReadonlyArray<Envelope>) => {
    for (const event of events) {
      const next = sequence.nextOf(event)
      if (next !== undefined) view.apply(next)
    }
  }
  return { view, receive }
}

const viewOf = (...parts: ReadonlyArray<ReadonlyArray<Envelope>>): RunView => {
  const { receive, view } = emptyView()
  for (const part of parts) receive(part)
  return view
}

describe("RunView", () => {
  it("does not depend on batches or on repeated events", () => {
    fc.assert(
      fc.property(
        fc.array(messageEvent, { maxLength: 60 }),
        fc.infiniteStream(fc.nat({ max: 9 })),
        (events, sizes) => {
          const log = logOf(events)
          const { receive, view } = emptyView()
          for (let at = 0; at < log.length;) {
            const size = sizes.next().value
            const again = sizes.next().value
            receive(log.slice(Math.max(0, at - again), at + size))
            at += size
            receive(log.slice(0, at))
          }
          assert.deepStrictEqual(seen(view), seen(viewOf(log)))
        }
      )
    )
  })

  it("keeps waiting when the runtime starts while a connection waits for a decision", () => {
    const request = { action: "network", risk: "low", title: "Connect", editable: false, scopes: ["once"] }
    const log = logOf([
      { type: "run.created", payload: { v: 1, workspace: "here", mode: "ask", input: { text: "Hello" } } },
      {
        type: "run.approval.requested",
        payload: { v: 1, approvalId: "a", expiresAt: "2030-01-01T00:00:00.000Z", request }
      },
      { type: "run.started", payload: { v: 1 } },
      { type: "run.approval.resolved", payload: { v: 1, approvalId: "a", state: "denied" } }
    ])
    assert.strictEqual(viewOf(log.slice(0, 3)).state, "waiting_approval")
    assert.strictEqual(viewOf(log).state, "running")
  })

  it("orders blocks by the event that began them, each with its own seq", () => {
    fc.assert(
      fc.property(fc.array(messageEvent, { maxLength: 60 }), (events) => {
        const { blocks, lastSeq } = viewOf(logOf(events))
        const seqs = blocks.map(({ seq }) => seq)
        assert.deepStrictEqual(
          seqs,
          [...new Set(seqs)].toSorted((a, b) => a - b)
        )
        assert.strictEqual(lastSeq, events.length)
      })
    )
  })

  it("is paused after the last pause that no resume and no end follows", () => {
    fc.assert(
      fc.property(fc.array(messageEvent, { maxLength: 60 }), (events) => {
        const last = events.findLast(({ type }) => type === "run.paused" || type === "run.resumed")
        assert.strictEqual(viewOf(logOf(events)).isPaused, last?.type === "run.paused")
        const cancelled = { type: "run.cancelled", payload: { v: 1 } }
        assert.isFalse(viewOf(logOf([...events, cancelled])).isPaused)
      })
    )
  })

  it("reads the stream independently of how its text is cut", () => {
    fc.assert(
      fc.property(
        fc.array(messageEvent, { maxLength: 20 }),
        fc.array(fc.nat({ max: 400 })),
        (events, cuts) => {
          const log = logOf(events)
          const text = log
            .map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n: \n\n`)
            .join("")
          const parser = new ServerSentEventParser()
          const sequence = new EventSequence(decodeEventFields)
          const read: Array<unknown> = []
          const receive = (piece: string) => {
            for (const { data } of parser.push(piece)) {
              const next = sequence.next(data)
              if (next !== undefined) read.push(envelopeOf(next.decoded))
            }
          }
          let from = 0
          for (const cut of [...cuts, text.length]) {
            receive(text.slice(from, from + cut))
            from += cut
          }
          receive(text.slice(from))
          assert.deepStrictEqual(read, JSON.parse(JSON.stringify(log)))
        }
      )
    )
  })

  it("keeps unknown events and shows none of them", () => {
    const view = viewOf(
      logOf([
        { type: "run.later", payload: { v: 1, text: "new" } },
        { type: "run.message.completed", payload: { v: 2, text: "other" } },
        { type: "run.tool.call", payload: { v: 1, callId: 7 } },
        { type: "constructor", payload: { v: 1 } }
      ])
    )
    assert.deepStrictEqual([view.blocks.length, view.unknown, view.lastSeq], [0, 4, 4])
    assert.deepStrictEqual(
      view.unknownEvents.map(({ type }) => type),
      ["run.later", "run.message.completed", "run.tool.call", "constructor"]
    )
  })

  it("marks missing events and keeps a message partial until it is completed", () => {
    const delta = {
      type: "run.message.delta",
      payload: { v: 1, messageId: "m", channel: "text", text: "he" }
    }
    const log = logOf([delta, delta, delta, delta])
    const view = viewOf(log.slice(0, 1), log.slice(3))
    assert.deepStrictEqual(
      view.blocks.map((block) => (block.kind === "message" ? [block.body.text, block.partial] : block.kind)),
      [["hehe", true], "gap"]
    )
    const done = {
      type: "run.message.completed",
      payload: { v: 1, messageId: "m", role: "assistant", channel: "text", text: "hello" }
    }
    const whole = viewOf(logOf([delta, done, delta]))
    assert.deepStrictEqual(
      whole.blocks.map((block) => block.kind === "message" && [block.body.text, block.partial]),
      [
        ["hello", false],
        ["he", true]
      ]
    )
  })

  it("bounds a message that never ends, and all texts in total", () => {
    const delta = (messageId: string, text: string) => ({
      type: "run.message.delta",
      payload: { v: 1, messageId, channel: "text", text }
    })
    const long = viewOf(
      logOf(Array.from({ length: 5_000 }, (_, at) => delta("m", `${at} ${"x".repeat(60)}\n`)))
    )
    const [block] = long.blocks
    assert(block?.kind === "message")
    assert.isAtMost(block.body.text.length, MAX_KEPT_TEXT * 1.5)
    assert.isTrue(block.body.text.endsWith(`4999 ${"x".repeat(60)}\n`))
    assert.deepStrictEqual([block.body.from, block.body.to], [1, 5_000])
    assert.strictEqual(block.body.skipped + block.body.text.length, block.body.size)

    const many = viewOf(logOf(Array.from({ length: 1_500 }, (_, at) => delta(`m${at}`, "y".repeat(20_000)))))
    const stored = many.blocks.reduce(
      (sum, one) => sum + (one.kind === "message" ? one.body.text.length : 0),
      0
    )
    assert.isAtMost(stored, MAX_TEXT)
    const last = many.blocks.at(-1)
    assert.strictEqual(last?.kind === "message" && last.body.text.length, 20_000)
  })

  it("applies an event of any type with the same number of operations however much is open", () => {
    checkStepCosts(() => {
      const view = new RunView()
      let seq = 0
      return ({ payload, type }) => {
        const envelope = {
          id: `evt_${++seq}`,
          seq,
          type,
          runId: "run_1",
          createdAt: "2026-01-01T00:00:00.000Z",
          payload: { v: 1, ...payload }
        }
        const decoded = decodeEventFields(envelope)
        assert(decoded?._tag === "KnownEvent", type)
        view.apply({ decoded, missing: undefined })
      }
    })
  })
})
