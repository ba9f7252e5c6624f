import { assert, describe, it } from "@effect/vitest"
import { type PolicyChoice, programPolicy } from "../../src/approval/EdgeApprovalPolicy.ts"
import { policyOf, shell } from "./RunPolicies.ts"

const chooses = (choice: PolicyChoice) =>
  programPolicy(
    () => choice,
    () => assert.fail()
  )
const npmTest = { action: "shell", command: ["npm", "test"] } as const

const verdictOf = (choice: PolicyChoice, options: Parameters<typeof policyOf>[0] = {}, isWhole = true) => {
  const policy = policyOf({ ...options, program: chooses(choice) })
  return policy.judge(policy.assess(shell("npm test")), isWhole)
}

describe("EdgeApprovalPolicy", () => {
  it("allows, denies or leaves a request for the user instead of Corral's own policy", () => {
    assert.deepStrictEqual(verdictOf("allow"), { _tag: "Allow", by: "policy:program" })
    assert.deepStrictEqual(verdictOf({ deny: "not today" }), {
      _tag: "Deny",
      by: "policy:program",
      reason: "not today"
    })
    assert.deepStrictEqual(verdictOf("default"), { _tag: "Ask" })
    assert.deepStrictEqual(verdictOf("default", { configured: [npmTest] }), {
      _tag: "Allow",
      by: "policy:workspace"
    })
    assert.deepStrictEqual(verdictOf("ask", { configured: [npmTest] }), { _tag: "Ask" })
    assert.deepStrictEqual(verdictOf("ask", { mode: "full_access" }), { _tag: "Ask" })
  })

  it("receives the run, the request with its risk, and the verdict of Corral's own policy", () => {
    const seen: Array<unknown> = []
    const policy = policyOf({
      program: programPolicy(
        ({ request, run, verdict }) => {
          seen.push([run.mode, run.workspace, request.command, request.risk, verdict])
          return "default"
        },
        () => assert.fail()
      )
    })
    policy.judge(policy.assess(shell("sudo rm -rf /")))
    assert.deepStrictEqual(seen, [["ask", "api", "sudo rm -rf /", "high", "Ask"]])
  })

  it.each(["read_only", "plan"] as const)("cannot allow anything in %s", (mode) => {
    const verdict = verdictOf("allow", { mode, configured: [npmTest] })
    assert.deepInclude(verdict, { _tag: "Deny", by: "policy:mode" })
  })

  it("cannot allow a request that it does not see completely, but can deny it", () => {
    assert.deepStrictEqual(verdictOf("allow", {}, false), { _tag: "Ask" })
    assert.strictEqual(verdictOf({ deny: "too large" }, {}, false)._tag, "Deny")
  })

  it.each([undefined, "yes", { deny: undefined }, { deny: 5 }, Promise.resolve("allow")])(
    "asks the user when it returns another value: %s",
    (choice) => {
      const errors: Array<unknown> = []
      const program = programPolicy(
        // Programs without types return anything, such as the promise of an async function.
        () => choice as unknown as PolicyChoice,
        (error) => errors.push(error)
      )
      const policy = policyOf({ program })
      assert.deepStrictEqual(policy.judge(policy.assess(shell("npm test"))), { _tag: "Ask" })
      assert.strictEqual(errors.length, 1)
      assert.instanceOf(errors[0], Error)
    }
  )

  it("asks the user when it throws, also where Corral's own policy allows", () => {
    const thrown: Array<unknown> = []
    const program = programPolicy(
      () => {
        throw new Error("broken")
      },
      (error) => thrown.push(error)
    )
    const policy = policyOf({ program, configured: [npmTest] })
    assert.deepStrictEqual(policy.judge(policy.assess(shell("npm test"))), { _tag: "Ask" })
    assert.strictEqual(thrown.length, 1)
  })
})
