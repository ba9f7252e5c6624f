import { assert, describe, it } from "@effect/vitest"
import { runtimeRemedyOf } from "../../src/run/RuntimeRemedy.ts"

describe("runtimeRemedyOf", () => {
  it.each([
    ["command_missing", "install"],
    ["not_signed_in", "sign_in"],
    ["bad_credentials", "sign_in"],
    ["edge_restarted", "continue"],
    ["rate_limited", undefined],
    ["crashed", undefined],
    ["constructor", undefined],
    [7, undefined],
    [undefined, undefined]
  ] as const)("of the reason %s is %s", (reason, remedy) => {
    assert.strictEqual(runtimeRemedyOf({ code: "runtime_unavailable", details: { reason } }), remedy)
  })

  it("is undefined without details, and for another code", () => {
    assert.isUndefined(runtimeRemedyOf({ code: "runtime_unavailable" }))
    assert.isUndefined(runtimeRemedyOf({ code: "internal", details: { reason: "command_missing" } }))
  })
})
