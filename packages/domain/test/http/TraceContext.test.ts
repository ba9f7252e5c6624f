import { assert, describe, it } from "@effect/vitest"
import { contextOf, traceparentFor, traceparentOf } from "../../src/http/TraceContext.ts"

const trace = "0af7651916cd43dd8448eb211c80319c"
const parent = "b7ad6b7169203331"

describe("traceparentOf", () => {
  it("gives a good one as it is", () => {
    for (const good of [`00-${trace}-${parent}-01`, `00-${trace}-${parent}-00`, `fe-${trace}-${parent}-ff`])
      assert.strictEqual(traceparentOf(good), good)
  })

  it("takes anything else for none", () => {
    for (const bad of [
      undefined,
      "",
      `ff-${trace}-${parent}-01`,
      `00-${"0".repeat(32)}-${parent}-01`,
      `00-${trace}-${"0".repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${parent}-01`,
      `00-${trace}-${parent}`,
      `00-${trace}-${parent}-01\n`,
      `00-${trace}-${parent}-01-x`
    ])
      assert.isUndefined(traceparentOf(bad), bad)
  })
})

describe("contextOf", () => {
  it("says what a header says, and back", () => {
    for (const sampled of [true, false]) {
      const context = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled }
      assert.deepStrictEqual(contextOf(traceparentFor(context)), context)
    }
    assert.deepInclude(contextOf(`01-${"a".repeat(32)}-${"b".repeat(16)}-ff`), { sampled: true })
    assert.isUndefined(contextOf(`00-${"0".repeat(32)}-${"b".repeat(16)}-01`))
    assert.isUndefined(contextOf(""))
  })
})
