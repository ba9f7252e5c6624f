/** What a run may do without a question where its writes stay in a layer. */
import { assert, describe, it } from "@effect/vitest"
import { request } from "../Samples.ts"
import { policyOf, shell, verdictOn } from "./RunPolicies.ts"

const write = (...files: ReadonlyArray<string>) =>
  request({ action: "write", risk: "low", files: [...files] })

describe("the policy of a run in a layer", () => {
  for (const mode of ["ask", "auto_edit"] as const) {
    it(`allows writes of ordinary files in ${mode}`, () => {
      const policy = policyOf({ mode, isLayered: true })
      assert.deepStrictEqual(verdictOn(policy, write("src/a.txt", "notes.txt")), {
        _tag: "Allow",
        by: "policy:layer"
      })
    })

    it(`asks for everything else in ${mode}`, () => {
      const policy = policyOf({ mode, isLayered: true })
      for (const other of [
        write("package.json"),
        write("src/a.txt", ".envrc"),
        write("../outside.txt"),
        write(".git/config"),
        write(),
        request({ action: "write", risk: "high", files: ["src/a.txt"] }),
        request({ action: "network", risk: "medium", url: "https://example.com/" }),
        shell("touch src/a.txt")
      ])
        assert.strictEqual(verdictOn(policy, other)._tag, "Ask", JSON.stringify(other))
    })
  }

  it("asks in ask without a layer", () => {
    assert.strictEqual(verdictOn(policyOf({ mode: "ask" }), write("src/a.txt"))._tag, "Ask")
  })

  it.each(["read_only", "plan"] as const)("denies writes in %s", (mode) => {
    assert.strictEqual(verdictOn(policyOf({ mode, isLayered: true }), write("src/a.txt"))._tag, "Deny")
  })
})
