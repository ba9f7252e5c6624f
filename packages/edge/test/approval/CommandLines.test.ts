/** Real command lines against the whole policy: what a person's "always" covers, and what is asked for every time. */
import type { Grant } from "@corral/domain/approval/Grant"
import { assert, describe, it } from "@effect/vitest"
import { grantable, hostile } from "./CommandLines.ts"
import { all, allow, isRemembered, policyOf, session, shell, verdictOn } from "./RunPolicies.ts"

describe("A line that says the same whenever it runs", () => {
  it.each(grantable)("%j is remembered, as it is and no other", (line) => {
    for (const scope of ["run", "session", "always"] as const) {
      const policy = policyOf({ sessionId: session })
      assert.strictEqual(verdictOn(policy, shell(line))._tag, "Ask")
      assert.deepStrictEqual(policy.assess(shell(line)).request.scopes, [...all])
      assert.strictEqual(allow(policy, shell(line), scope).scope, scope)
      assert.isTrue(isRemembered(policy, shell(line)))
      for (const other of [`${line}\nrm x`, `rm x\n${line}`, `${line}\n$(x)`, `sudo ${line}`]) {
        assert.strictEqual(verdictOn(policy, shell(other))._tag, "Ask", other)
      }
      // A line that goes to a folder by its whole path is the same wherever it starts.
      const elsewhere = line.startsWith("cd /ws") ? "Allow" : "Ask"
      assert.strictEqual(verdictOn(policy, shell(line, "other"))._tag, elsewhere)
    }
  })
})

/** As much as a configuration can give away. */
const generous = [
  "npm run",
  "npm test",
  "git log",
  "git diff",
  "git add",
  "ls",
  "echo",
  "cat",
  "touch",
  "cp",
  "tee",
  "make",
  "go test",
  "go build"
].map((program) => ({ action: "shell", command: program.split(" "), prefix: true }) as const)

describe("A line that may be another whenever it runs", () => {
  it.each(hostile)("%j is asked for every time", (line) => {
    const grants: Array<Grant> = []
    const policy = policyOf({
      sessionId: session,
      grants,
      configured: [...generous, { action: "write", files: ["**", ".*/**"] }]
    })
    assert.deepStrictEqual(policy.assess(shell(line)).request.scopes, ["once"])
    for (const scope of all) {
      assert.strictEqual(verdictOn(policy, shell(line))._tag, "Ask")
      assert.strictEqual(allow(policy, shell(line), scope).scope, "once")
    }
    assert.strictEqual(verdictOn(policy, shell(line))._tag, "Ask")
    assert.deepStrictEqual(grants, [])
  })

  it("is enough to ask for the whole chain", () => {
    const policy = policyOf()
    for (const good of grantable) allow(policy, shell(good), "run")
    for (const bad of hostile.filter(
      (line) => line.trim() !== "" && !line.startsWith("#") && line !== "cd sub"
    )) {
      assert.strictEqual(verdictOn(policy, shell(`npm test\n${bad}`))._tag, "Ask", bad)
    }
  })
})
