/** What is true of every log and of every way of reading it. */
import { assert } from "@effect/vitest"
import { eventIdOf, type RunId } from "@corral/domain/identity/Ids"
import { decodeEvent, MAX_PAYLOAD_BYTES, type Envelope } from "@corral/domain/run/RunEvent"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { Result } from "effect"

/** Every event after `after`, once and in order. */
export const assertDense = (events: ReadonlyArray<Envelope>, after = 0): void => {
  events.forEach((event, i) => {
    if (event.seq !== after + i + 1) {
      const around = events.slice(Math.max(0, i - 2), i + 3).map(({ seq }) => seq)
      assert.fail(`place ${i} after ${after} holds seq ${event.seq}: … ${around.join(", ")} …`)
    }
  })
}

/** A log as it is when the run has ended. */
export const assertWhole = (events: ReadonlyArray<Envelope>): void => {
  assertDense(events)
  assert.strictEqual(events[0]?.type, "run.created")
  const terminal = events.filter(({ type }) => isTerminalType(type))
  assert.deepStrictEqual(terminal, [events.at(-1)], "exactly one terminal event, and it is the last")
  for (const event of events) {
    assert.strictEqual(event.id, eventIdOf(event.runId satisfies RunId, event.seq))
    const decoded = decodeEvent(event)
    assert.isTrue(
      Result.isSuccess(decoded) && decoded.success._tag === "KnownEvent",
      `${event.type} fits its schema: ${JSON.stringify(event).slice(0, 300)}`
    )
    const size = Buffer.byteLength(JSON.stringify(event.payload))
    assert.isAtMost(size, MAX_PAYLOAD_BYTES, `${event.type} of ${size} bytes`)
  }
  for (const [begin, end, id] of pairs)
    assert.deepStrictEqual(idsOf(events, end, id).sort(), idsOf(events, begin, id).sort(), `${begin}, ${end}`)
}

/** Events that come in pairs: each begin has one end. */
const pairs = [
  ["run.approval.requested", "run.approval.resolved", "approvalId"],
  ["run.input.requested", "run.input.resolved", "inputId"],
  ["run.work.started", "run.work.ended", "workId"]
] as const

const idsOf = (events: ReadonlyArray<Envelope>, type: string, id: string): Array<string> =>
  events.filter((event) => event.type === type).map((event) => String(event.payload[id]))
