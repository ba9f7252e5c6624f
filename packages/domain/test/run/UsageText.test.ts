import { assert, describe, it } from "@effect/vitest"
import { costText, countText } from "../../src/run/UsageText.ts"

describe("costText", () => {
  it.each([
    [0, "$0.00"],
    [0.000004, "<$0.0001"],
    [0.00006, "$0.0001"],
    [0.0042, "$0.0042"],
    [0.0999, "$0.0999"],
    [0.1, "$0.10"],
    [0.999, "$1.00"],
    [12.3, "$12.30"],
    [1_204.5, "$1,204.50"]
  ])("writes %d as %s", (cost, text) => assert.strictEqual(costText(cost), text))
})

describe("countText", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [12_345, "12,345"],
    [99_999, "99,999"],
    [100_000, "100k"],
    [123_456, "123k"],
    [999_499, "999k"],
    [999_950, "1M"],
    [1_234_567, "1.2M"],
    [99_970_000, "100M"],
    [2_500_000_000, "2.5B"]
  ])("writes %d as %s", (count, text) => assert.strictEqual(countText(count), text))
})
