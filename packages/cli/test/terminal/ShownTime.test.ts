import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { datedTime, listedTime, localTime, relativeTime } from "../../src/terminal/ShownTime.ts"

const isoTime = fc
  .date({ min: new Date("2000-01-01"), max: new Date("2100-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString())

describe("ShownTime", () => {
  it("shows the minute in the zone of this machine", () => {
    fc.assert(
      fc.property(isoTime, (at) => {
        const shown = localTime(at)
        assert.match(shown, /^\d{4}-\d\d-\d\d \d\d:\d\d$/)
        // A text without a zone is a time of this machine.
        const minute = Date.parse(shown.replace(" ", "T"))
        // The hour that a zone repeats in autumn has two readings.
        assert.oneOf(Math.floor((Date.parse(at) - minute) / 60_000), [0, 60, -60, 30, -30])
      })
    )
  })

  it("shows no ISO time in any list or detail", () => {
    fc.assert(
      fc.property(isoTime, isoTime, fc.option(fc.nat(200), { nil: undefined }), (at, now, width) => {
        const time = Date.parse(now)
        for (const shown of [listedTime(at, width, time), datedTime(at, time), relativeTime(at, time)]) {
          assert.notMatch(shown, /\dT\d|Z/)
          assert.isNotEmpty(shown)
        }
        if (width !== undefined) assert.isAtMost(listedTime(at, width, time).length, 12)
      })
    )
  })

  it("shows a text that is not a time without its control characters", () => {
    for (const show of [localTime, (at: string) => relativeTime(at, 0)])
      assert.strictEqual(show("soon\u001b[2J"), "soon␛[2J")
  })
})
