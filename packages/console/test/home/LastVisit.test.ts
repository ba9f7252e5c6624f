import { assert, describe, it } from "@effect/vitest"
import { visitAt } from "../../src/home/LastVisit.ts"

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

describe("visitAt", () => {
  it("starts with the last day", () => {
    assert.deepStrictEqual(visitAt(undefined, 5 * DAY_MS), { since: 4 * DAY_MS, seen: 5 * DAY_MS })
  })

  it("continues after a reload, and ends half an hour after the page was last open", () => {
    const visit = { since: 0, seen: DAY_MS }
    assert.deepStrictEqual(visitAt(visit, DAY_MS + 30 * MINUTE_MS), {
      since: 0,
      seen: DAY_MS + 30 * MINUTE_MS
    })
    const later = DAY_MS + 30 * MINUTE_MS + 1
    assert.deepStrictEqual(visitAt(visit, later), { since: DAY_MS, seen: later })
  })

  it("starts again after the clock was set back", () => {
    assert.strictEqual(visitAt({ since: 0, seen: 9 * DAY_MS }, 3 * DAY_MS).since, 2 * DAY_MS)
  })
})
