import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { DecideApproval } from "../../src/approval/Approval.ts"
import { isTooDeep, MAX_DEPTH } from "../../src/text/Depth.ts"

const nested = (depth: number, [open, close]: readonly [string, string]): unknown =>
  JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`)
const kinds = [
  ['{"a":', "}"],
  ["[", "]"],
  ['[{"a":[', "]}]"]
] as const

describe("isTooDeep", () => {
  it.each(kinds)("knows how deep %s%s nests", (open, close) => {
    const levels = open.replaceAll(/[^[{]/g, "").length
    const most = Math.floor(MAX_DEPTH / levels)
    assert.isFalse(isTooDeep(nested(most, [open, close])))
    assert.isTrue(isTooDeep(nested(most + 1 + levels, [open, close])))
    assert.isTrue(isTooDeep(nested(100_000, [open, close])))
  })
})

describe("An edited input", () => {
  it.each(kinds)("that nests %s%s too deep is refused and never thrown at", (open, close) => {
    const is = Schema.is(DecideApproval)
    const decide = (depth: number) => ({
      runId: `run_${"0".repeat(26)}`,
      approvalId: `apr_${"0".repeat(26)}`,
      decision: "allow",
      updatedInput: { input: nested(depth, [open, close]) }
    })
    assert.isTrue(is(decide(20)))
    for (const depth of [MAX_DEPTH + 1, 5_000, 100_000]) assert.isFalse(is(decide(depth)))
  })
})
