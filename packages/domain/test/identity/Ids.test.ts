import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { encodeUlid, EventId, eventIdOf, RunId } from "../../src/identity/Ids.ts"

const Millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 48 - 1 }))
const Seq = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 40 - 1 }))
const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Bytes = Schema.Array(Byte).check(Schema.isMinLength(10), Schema.isMaxLength(10))

const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)

describe("encodeUlid", () => {
  it("knows the ends of its range", () => {
    assert.strictEqual(encodeUlid(0, new Uint8Array(10)), "0".repeat(26))
    assert.strictEqual(encodeUlid(2 ** 48 - 1, new Uint8Array(10).fill(255)), `7${"Z".repeat(25)}`)
  })

  it.prop("sorts by time, then by its random part", [Millis, Millis, Bytes, Bytes], ([at, later, r1, r2]) => {
    const [a, b] = [encodeUlid(at, Uint8Array.from(r1)), encodeUlid(later, Uint8Array.from(r2))]
    const byRandom = r1.map((byte, i) => order(byte, r2[i] ?? 0)).find((sign) => sign !== 0) ?? 0
    assert.strictEqual(order(a, b), order(at, later) || byRandom)
  })

  it.prop("makes ids that the schemas take", [Millis, Bytes], ([at, random]) => {
    assert.isTrue(Schema.is(RunId)(`run_${encodeUlid(at, Uint8Array.from(random))}`))
  })
})

describe("eventIdOf", () => {
  it.prop("is unique and sortable within one run", [RunId, Seq, Seq], ([runId, a, b]) => {
    assert.isTrue(Schema.is(EventId)(eventIdOf(runId, a)))
    assert.strictEqual(order(eventIdOf(runId, a), eventIdOf(runId, b)), order(a, b))
  })

  it.prop("differs between runs of other times", [Millis, Millis, Bytes, Seq], ([at, later, random, seq]) => {
    const run = (time: number) => RunId.make(`run_${encodeUlid(time, Uint8Array.from(random))}`)
    assert.strictEqual(eventIdOf(run(at), seq) === eventIdOf(run(later), seq), at === later)
  })
})

describe("ids", () => {
  it.each([
    "run_",
    "run_01",
    `run_8${"0".repeat(25)}`,
    `run_${"I".repeat(26)}`,
    `evt_${"0".repeat(26)}`,
    `run_${"0".repeat(26)}\n`
  ])("refuses %j as a run id", (text) => {
    assert.isFalse(Schema.is(RunId)(text))
  })
})
