import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Schema } from "effect"
import { Day, dayIn, endOfDayIn } from "../../src/usage/Day.ts"

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Beirut",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Kiritimati"
] as const

const HOUR = 3_600_000
const [first, last] = [Date.UTC(2024, 0, 1), Date.UTC(2031, 0, 1)]
const moment = fc.integer({ min: first, max: last })
const nextDate = (day: Day): Day =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 24 * HOUR).toISOString().slice(0, 10)

describe.each(zones)("Days in %s", (zone) => {
  it("begin where the day before ends, and have their whole hours", () => {
    const lengths = new Set<number>()
    let at = endOfDayIn(zone, first)
    while (at < last) {
      const day = dayIn(zone, at)
      const end = endOfDayIn(zone, at)
      assert.strictEqual(dayIn(zone, end - 1), day)
      assert.strictEqual(dayIn(zone, end), nextDate(day))
      lengths.add((end - at) / HOUR)
      at = end
    }
    for (const hours of lengths) assert.include([23, 23.5, 24, 24.5, 25], hours)
    assert.isTrue(lengths.has(24))
  })

  it("are the dates of the clock there", () => {
    const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short" })
    fc.assert(
      fc.property(moment, (at) => {
        const day = dayIn(zone, at)
        assert.strictEqual(day, clock.format(at))
        assert.isTrue(Schema.is(Day)(day))
        const end = endOfDayIn(zone, at)
        assert.isAbove(end, at)
        assert.strictEqual(dayIn(zone, end - 1), day)
        assert.notStrictEqual(dayIn(zone, end), day)
      })
    )
  })
})

describe("Day", () => {
  it.each(["2026-02-29", "2026-13-01", "2026-1-1", "2026-01-01T00", "+02026-01-01", ""])(
    "refuses %s",
    (text) => assert.isFalse(Schema.is(Day)(text))
  )
})
