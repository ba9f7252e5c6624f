import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import { isQuiet } from "../../src/preference/ClockOfZone.ts"
import { QuietHours } from "../../src/preference/Preferences.ts"

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
const timeOf = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`

const DAY = 1_440
const minute = fc.integer({ min: 0, max: DAY - 1 })

describe("QuietHours", () => {
  it("counts the minutes from the beginning to the end, also over midnight", () => {
    fc.assert(
      fc.property(minute, minute, minute, (from, to, now) => {
        fc.pre(from !== to)
        const hours = { from: timeOf(from), to: timeOf(to), timeZone: "UTC" }
        const isInside = (now - from + DAY) % DAY < (to - from + DAY) % DAY
        assert.strictEqual(isQuiet(hours, Date.UTC(2026, 10, 29) + now * 60_000), isInside)
      })
    )
  })

  it("follows the clock of the time zone over a change of its offset", () => {
    const hours = { from: "22:00", to: "06:30", timeZone: "Europe/Berlin" }
    // 29 March 2026: from 02:00 to 03:00.
    assert.isTrue(isQuiet(hours, Date.parse("2026-03-29T04:29:00Z")))
    assert.isFalse(isQuiet(hours, Date.parse("2026-03-29T04:30:00Z")))
    // 28 March 2026, an hour later by UTC.
    assert.isTrue(isQuiet(hours, Date.parse("2026-03-28T05:29:00Z")))
    assert.isFalse(isQuiet(hours, Date.parse("2026-03-28T05:30:00Z")))
  })

  it("uses the clock of the reader where it does not have the time zone", () => {
    // A Hub with newer time zones stores names that a browser does not have.
    const local = {
      from: "22:00",
      to: "07:00",
      timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone
    }
    fc.assert(
      fc.property(minute, fc.stringMatching(/^[A-Z][a-z]{9}\/[A-Z][a-z]{9}$/), (now, timeZone) => {
        const at = Date.UTC(2026, 10, 29) + now * 60_000
        assert.strictEqual(isQuiet({ ...local, timeZone }, at), isQuiet(local, at))
      })
    )
  })

  it("takes times of a day and names of time zones only", () => {
    const isHours = Schema.is(QuietHours)
    fc.assert(
      fc.property(fc.string({ maxLength: 6 }), (text) => {
        const isTime = /^\d\d:\d\d$/.test(text) && minutesOf(text) < DAY && Number(text.slice(3)) < 60
        fc.pre(text !== "12:00")
        assert.strictEqual(isHours({ from: text, to: "12:00", timeZone: "UTC" }), isTime)
      })
    )
    const hours = { from: "22:00", to: "07:00" }
    for (const timeZone of ["Asia/Shanghai", "America/St_Johns", "UTC"])
      assert.isTrue(isHours({ ...hours, timeZone }), timeZone)
    for (const timeZone of ["", "Mars/Olympus", "Europe/Berlin ", "x".repeat(65)])
      assert.isFalse(isHours({ ...hours, timeZone }), timeZone)
    assert.isFalse(isHours({ from: "22:00", to: "22:00", timeZone: "UTC" }))
  })
})
