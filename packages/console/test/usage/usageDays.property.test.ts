import type { UsageRow } from "@corral/domain/usage/UsageReport"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { dayBefore, dayNear, daysFrom, usePerDay } from "../../src/usage/usageDays.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))
/** From 2000 to 2050, leap years among them. */
const At = Schema.Int.check(Schema.isBetween({ minimum: 946_684_800_000, maximum: 2_524_608_000_000 }))

describe("days", () => {
  it.prop("follow each other without a gap", [At, Count], ([at, count]) => {
    const last = dayNear("UTC", at)
    const days = daysFrom(dayBefore(last, count - 1), last)
    assert.strictEqual(days.length, count)
    assert.deepStrictEqual([...days], [...new Set(days)].toSorted())
    assert.strictEqual(days.at(-1), last)
    for (const day of days) assert.strictEqual(new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10), day)
  })

  it("are none from a later day on", () => assert.deepStrictEqual(daysFrom("2026-03-02", "2026-03-01"), []))
})

describe("dayNear", () => {
  it.each([
    ["Asia/Shanghai", "2026-03-02"],
    [undefined, "2026-03-01"],
    ["Nowhere/Unknown", "2026-03-01"]
  ] as const)("is the day of %s", (zone, day) =>
    assert.strictEqual(dayNear(zone, Date.parse("2026-03-01T20:00:00Z")), day)
  )
})

describe("usePerDay", () => {
  it("has zeros for days without runs", () => {
    const row = { day: "2026-03-02", runs: 2, costUsd: 1.5 } as UsageRow
    assert.deepStrictEqual(
      usePerDay([row], "2026-03-01", "2026-03-03").map(({ costUsd, day, runs }) => [day, runs, costUsd]),
      [
        ["2026-03-01", 0, 0],
        ["2026-03-02", 2, 1.5],
        ["2026-03-03", 0, 0]
      ]
    )
  })
})
