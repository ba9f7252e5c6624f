import { ClockOffset } from "@corral/service/clock/ClockOffset"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

/** A request: when it is sent after the one before, and how long each way takes. */
const request = fc.record({
  pause: fc.integer({ min: 1, max: 10_000 }),
  there: fc.integer({ min: 0, max: 3_000 }),
  back: fc.integer({ min: 0, max: 3_000 })
})

describe("ClockOffset", () => {
  it("is never further off than half of the quickest round trip, or of a quick one", () =>
    fc.assert(
      fc.property(
        fc.integer({ min: -1e12, max: 1e12 }),
        fc.array(request, { minLength: 1, maxLength: 20 }),
        (shift, requests) => {
          const offset = new ClockOffset()
          let [now, smallest] = [0, Infinity]
          for (const { back, pause, there } of requests) {
            const sentAt = now + pause
            const receivedAt = sentAt + there + back
            offset.note({ sentAt, receivedAt, remote: sentAt + there + shift })
            now = receivedAt
            smallest = Math.min(smallest, Math.max(10, (there + back) / 2))
            assert.isAtMost(Math.abs((offset.at(now) ?? Infinity) - (now + shift)), Math.max(3_000, smallest))
          }
        }
      )
    ))

  it("follows a clock that is set, as soon as a sample contradicts the estimate", () =>
    fc.assert(
      fc.property(
        fc.integer({ min: -1e9, max: 1e9 }).filter((jump) => Math.abs(jump) > 6_000),
        request,
        request,
        (jump, before, after) => {
          const offset = new ClockOffset()
          const note = (sentAt: number, { back, there }: typeof before, shift: number) =>
            offset.note({ sentAt, receivedAt: sentAt + there + back, remote: sentAt + there + shift })
          note(0, before, 0)
          note(10_000, after, jump)
          assert.isAtMost(Math.abs((offset.at(20_000) ?? Infinity) - (20_000 + jump)), 3_000)
        }
      )
    ))
})
