/** What a resumed run may change, and what shows that a conversation cannot continue. */
import { assert, describe, it } from "@effect/vitest"
import { cannotContinue, continuationRefusal } from "../../src/run/Continuation.ts"

const free = { mode: "any", model: "any" } as const

describe("A conversation", () => {
  it("may change its mode and model where the runtime allows both", () => {
    const refusal = continuationRefusal(free, "Agent", { mode: "plan" }, { mode: "ask", model: "large" })
    assert.isUndefined(refusal)
  })

  it("keeps the mode or model that the runtime cannot change", () => {
    const earlier = { mode: "plan", model: "small" } as const
    const refusal = (continuation: object, next: object) =>
      continuationRefusal({ ...free, ...continuation }, "Agent", earlier, { ...earlier, ...next })
    assert.strictEqual(
      refusal({ mode: "same" }, { mode: "ask" }),
      "Agent continues a conversation only in its mode: plan."
    )
    assert.strictEqual(
      refusal({ model: "same" }, { model: undefined }),
      "Agent continues a conversation only with its model: small."
    )
    assert.isUndefined(refusal({ mode: "same" }, { model: "large" }))
    assert.isUndefined(refusal({ model: "same" }, { mode: "ask" }))
    assert.isUndefined(refusal({ model: "same", mode: "same" }, {}))
  })

  it("cannot continue after a refusal of `resume`, or a failure of the runtime to find it", () => {
    const issue = (path: string) => ({
      code: "schema_validation_failed",
      details: { issues: [{ path, message: "" }] }
    })
    const failure = (reason: string) => ({ code: "runtime_unavailable", details: { reason } })
    assert.isTrue(cannotContinue(issue("resume")))
    for (const reason of ["unknown_session", "session_in_use", "cannot_resume"])
      assert.isTrue(cannotContinue(failure(reason)))
    for (const other of [
      issue("model"),
      failure("rate_limited"),
      { code: "runtime_unavailable" },
      { code: "schema_validation_failed", details: { issues: [null, "resume"] } },
      { code: "internal", details: { reason: "unknown_session" } }
    ])
      assert.isFalse(cannotContinue(other), JSON.stringify(other))
  })
})
