/** The simulation of cells (`bench/cells`). */
import { assert, describe, it } from "@effect/vitest"
import { simulateCell } from "../bench/cells/Cell.ts"
import { measured, transaction } from "../bench/cells/MeasuredCosts.ts"
import { devicesOf, place, placements, rebalance } from "../bench/cells/Placement.ts"
import { randomOf } from "../bench/cells/Random.ts"

const load = { active: 100, perSecond: 1, millis: 60_000 }

describe("a simulated cell", () => {
  it("needs about one transaction for a push while it has little to do", () => {
    const { p50, pushesPerSecond } = simulateCell({ ...load, active: 10 }, randomOf(1))
    assert.approximately(p50, transaction.fixed + transaction.perPush, 0.2)
    assert.approximately(pushesPerSecond, 10, 1)
  })

  it("has the measured rate and quantiles within a tenth", () => {
    const { links, p50, p99, perSecond } = measured.smallPushes
    const closed = { active: links, perSecond: Number.POSITIVE_INFINITY, millis: 60_000 }
    const simulated = simulateCell(closed, randomOf(1))
    assert.approximately(simulated.pushesPerSecond / perSecond, 1, 0.1)
    assert.approximately(simulated.p50 / p50, 1, 0.1)
    assert.approximately(simulated.p99 / p99, 1, 0.1)
  })

  it("acknowledges nothing during an outage, and everything after it", () => {
    const outage = { from: 20_000, until: 30_000 }
    const { caughtUpAfter, longest } = simulateCell({ ...load, outage }, randomOf(1))
    assert.isAtLeast(longest, 9_000)
    assert.isBelow(longest, 11_000)
    assert.isAbove(caughtUpAfter, 0)
    assert.isBelow(caughtUpAfter, 2_000)
  })

  it("serves a device only after it has connected again", () => {
    const cut = { at: 10_000, devices: 1_000, active: 100 }
    const { longest, unlinked } = simulateCell({ ...load, cut }, randomOf(1))
    assert.strictEqual(unlinked, 0)
    assert.isAtLeast(longest, measured.connect * 900)
  })

  it("is the same for the same seed", () => {
    assert.deepStrictEqual(simulateCell(load, randomOf(7)), simulateCell(load, randomOf(7)))
  })
})

describe("groups of devices", () => {
  it.each(Object.entries(placements))("are placed %s, each once", (_, placement) => {
    const groups = place(10_000, 10, placement, randomOf(1))
    assert.strictEqual(
      devicesOf(groups, 10).reduce((sum, each) => sum + each, 0),
      10_000
    )
  })

  it("move until no cell exceeds the mean by a tenth, and not further", () => {
    const even = [0, 1].flatMap((cell) => Array.from({ length: 10 }, () => ({ cell, devices: 10 })))
    assert.deepStrictEqual(rebalance(even, 2, 0.1), { groups: 0, devices: 0 })
    const uneven = even.map((group) => ({ ...group, cell: 0 }))
    // 200 devices in one of two cells: at most 110 may stay.
    assert.deepStrictEqual(rebalance(uneven, 2, 0.1), { groups: 9, devices: 90 })
  })
})
