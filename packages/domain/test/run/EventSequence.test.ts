import { assert, describe, it } from "@effect/vitest"
import { envelopeOf, EventSequence, type SequencedEvent } from "../../src/run/EventSequence.ts"
import { decodeReceivedEvent } from "../../src/run/RunEvent.ts"

const at = (seq: number) => new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString()

const eventOf = (seq: number, id = `evt_01ARZ3NDEKTSV4RRFFQ69G${String(seq).padStart(4, "0")}`) => ({
  id,
  seq,
  type: "run.message.delta",
  runId: "run_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  createdAt: at(seq),
  payload: { v: 1, messageId: "m", channel: "text", text: `${seq}` }
})

const seqOf = (event: SequencedEvent | undefined): number | undefined =>
  event === undefined ? undefined : envelopeOf(event.decoded).seq

describe("EventSequence", () => {
  it("returns each event once, in order of seq", () => {
    const sequence = new EventSequence(decodeReceivedEvent)
    const received = [1, 2, 2, 1, 3].map((seq) => seqOf(sequence.nextOf(eventOf(seq))))
    assert.deepStrictEqual(received, [1, 2, undefined, undefined, 3])
    assert.strictEqual(sequence.lastSeq, 3)
  })

  it("ignores an event whose id was received under another seq", () => {
    const sequence = new EventSequence(decodeReceivedEvent)
    const first = eventOf(1)
    assert.strictEqual(seqOf(sequence.nextOf(first)), 1)
    assert.isUndefined(sequence.nextOf(eventOf(2, first.id)))
    assert.strictEqual(sequence.lastSeq, 1)
    assert.strictEqual(seqOf(sequence.nextOf(eventOf(2))), 2)
  })

  it("reports the events between two positions as missing", () => {
    const sequence = new EventSequence(decodeReceivedEvent, 4)
    assert.isUndefined(sequence.nextOf(eventOf(4)))
    assert.isUndefined(sequence.nextOf(eventOf(5))?.missing)
    assert.deepStrictEqual(sequence.nextOf(eventOf(9))?.missing, { from: 6, to: 8, noticedAt: at(9) })
  })
})
