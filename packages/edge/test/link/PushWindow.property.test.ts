import {
  type EventBatch,
  MAX_PUSH_CHARACTERS,
  MAX_PUSH_EVENTS,
  MAX_PUSHES_IN_FLIGHT,
  type PushAck
} from "@corral/domain/link/EdgeLink"
import type { RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { type Push, type PushEnd, PushWindow } from "../../src/link/EventPush.ts"
import { runIdOf } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"
import { tries } from "@corral/testing/time/Effort"

/** Next step: an append of a number of events, a push, the Hub takes the n-th push in flight, a response arrives, the link breaks. */
const Step = Schema.Union([
  Schema.Struct({
    append: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
    events: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 700 }))
  }),
  Schema.Struct({ send: Schema.Literal(true) }),
  Schema.Struct({ deliver: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) }),
  Schema.Struct({ answer: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) }),
  Schema.Struct({ broken: Schema.Literal(true) })
])

/** The Hub's side: it takes what follows, passes over what it has, refuses what would leave a gap. */
class Mirror {
  readonly logs = new Map<RunId, Array<string>>()

  take(batches: ReadonlyArray<EventBatch>): ReadonlyArray<PushAck> {
    return batches.map(({ events, firstSeq, runId }) => {
      const log = this.logs.get(runId) ?? []
      if (firstSeq > log.length + 1) return { runId, seq: log.length, refused: "conflict" as const }
      log.push(...events.slice(log.length + 1 - firstSeq))
      this.logs.set(runId, log)
      return { runId, seq: log.length }
    })
  }
}

/** Appends to the log of a run; the last append ends it. */
const writer = (log: EdgeEventLog["Service"], runId: RunId, size: number) => {
  const encode = makeEventEncoder({ runId })
  const lines: Array<string> = []
  return {
    lines,
    append: Effect.fnUntraced(function* (events: number, terminal: boolean) {
      const firstSeq = lines.length + 1
      for (let i = 0; i < events; i++) {
        const last = terminal && i === events - 1
        const text = "x".repeat(size)
        const event = last
          ? draft("run.completed", {})
          : draft("run.message.delta", { messageId: "m", channel: "text", text })
        lines.push(encode(lines.length + 1, "2026-01-01T00:00:00.000Z", event))
      }
      yield* log.append(
        {
          runId,
          firstSeq,
          count: lines.length - firstSeq + 1,
          lines: lines.slice(firstSeq - 1).join("\n"),
          terminal
        },
        []
      )
    })
  }
}

const assertBounded = ({ batches }: Push): void => {
  const events = batches.flatMap((batch) => batch.events)
  assert.isAtMost(events.length, MAX_PUSH_EVENTS)
  assert.isTrue(events.length === 1 || events.join("").length <= MAX_PUSH_CHARACTERS)
  assert.strictEqual(new Set(batches.map(({ runId }) => runId)).size, batches.length, "one batch a run")
}

describe("the window of pushes", () => {
  it.effect.prop(
    "delivers every event once and in order, at any break and in any order of taking and answering",
    {
      steps: Schema.Array(Step).check(Schema.isMaxLength(60)),
      sizes: Schema.Array(Schema.Literals([10, 3_000, 200_000]))
    },
    ({ sizes, steps }) =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const mirror = new Mirror()
        const writers = [0, 1, 2, 3].map((n) => {
          const runId = runIdOf(n + 1)
          // The large ones come few at a time.
          return { runId, limit: (sizes[n] ?? 10) > 1_000 ? 7 : 700, ...writer(log, runId, sizes[n] ?? 10) }
        })
        const ends: Array<PushEnd> = []
        const begin = (): PushWindow => {
          const window = new PushWindow(log, (end) => void ends.push(end))
          for (const { runId } of writers) window.addRun(runId, mirror.logs.get(runId)?.length ?? 0)
          return window
        }
        let window = begin()
        let sent: Array<Push> = []
        let taken: Array<readonly [Push, ReadonlyArray<PushAck>]> = []

        const send = () => {
          const push = sent.length + taken.length < MAX_PUSHES_IN_FLIGHT ? window.next() : undefined
          if (push === undefined) return false
          assertBounded(push)
          sent.push(push)
          return true
        }
        const deliver = (n: number) => {
          const [push] = sent.splice(n % sent.length, 1)
          if (push !== undefined) taken.push([push, mirror.take(push.batches)])
        }
        const answer = (n: number) => {
          const [found] = taken.splice(n % taken.length, 1)
          if (found !== undefined) window.complete(...found)
        }
        const restart = () => {
          window = begin()
          sent = []
          taken = []
        }
        for (const step of steps) {
          if ("append" in step) {
            const writer = writers[step.append]
            if (writer === undefined) continue
            yield* writer.append(Math.min(step.events, writer.limit), false)
            window.markReady(writer.runId)
          } else if ("send" in step) send()
          else if ("deliver" in step) deliver(step.deliver)
          else if ("answer" in step) answer(step.answer)
          else restart()
        }
        for (const { append, runId } of writers) {
          yield* append(1, true)
          window.markReady(runId)
        }
        // A new link without faults, after all that went wrong.
        restart()
        while (send() || sent.length > 0 || taken.length > 0) {
          deliver(0)
          answer(0)
        }
        for (const { lines, runId } of writers) assert.isTrue(mirror.logs.get(runId)?.join() === lines.join())
        const complete = ends.filter(({ reason }) => reason === "complete").map(({ runId }) => runId)
        assert.deepStrictEqual(new Set(complete), new Set(writers.map(({ runId }) => runId)))
      }).pipe(Effect.provide(memoryLogLayer)),
    tries(8)
  )

  it.effect("lets runs take turns", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const [many, few] = [writer(log, runIdOf(1), 10), writer(log, runIdOf(2), 10)]
      yield* many.append(5_000, false)
      yield* few.append(3, true)
      const window = new PushWindow(log, () => {})
      window.addRun(runIdOf(1), 0)
      window.addRun(runIdOf(2), 0)
      const runsOf = (push: Push | undefined) => push?.batches.map(({ runId }) => runId)
      assert.deepStrictEqual(runsOf(window.next()), [runIdOf(1)])
      assert.deepStrictEqual(runsOf(window.next()), [runIdOf(2), runIdOf(1)])
    }).pipe(Effect.provide(memoryLogLayer))
  )

  it.effect("ends a run that the Hub refuses, and puts one aside that it never takes, for a while", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const ids = [runIdOf(1), runIdOf(2), runIdOf(3)] as const
      for (const id of ids) yield* writer(log, id, 10).append(4, false)
      const ends: Array<PushEnd> = []
      const window = new PushWindow(log, (end) => void ends.push(end))
      for (const id of ids) window.addRun(id, 0)
      const refusals = ["permission_denied", "schema_validation_failed", "conflict"] as const
      for (let push = window.next(); push !== undefined; push = window.next()) {
        window.complete(
          push,
          push.batches.map(({ runId }) => ({
            runId,
            seq: 0,
            refused: refusals[ids.indexOf(runId)] ?? "conflict"
          }))
        )
      }
      assert.deepStrictEqual(ends, [
        { runId: ids[0], seq: 0, reason: "permission_denied" },
        { runId: ids[1], seq: 0, reason: "schema_validation_failed" },
        { runId: ids[2], seq: 0, reason: "stuck" }
      ])
      for (const id of ids) window.markReady(id)
      assert.isUndefined(window.next())
      for (const id of ids) window.retryStuck(id)
      assert.deepStrictEqual(
        window.next()?.batches.map(({ firstSeq, runId }) => [runId, firstSeq]),
        [[ids[2], 1]]
      )
    }).pipe(Effect.provide(memoryLogLayer))
  )
})
