import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { refusalIn, withRefusal } from "../../src/confinement/FailureHints.ts"

describe("refusalIn", () => {
  it.each([
    ["sh: 1: cannot create .vscode/a: Read-only file system", "write"],
    ["Error: EROFS: read-only file system, open '/etc/a'", "write"],
    ["error: could not write config file .git/config: Device or resource busy", "write"],
    ["Error: EBUSY: resource busy or locked, rename '.vscode' -> 'b'", "write"],
    ["cat: /root/a: Permission denied", "access"],
    ["EACCES: permission denied, open 'a'", "access"],
    ["mount: operation not permitted", "access"],
    ["1 test failed", undefined]
  ])("reads %s", (output, expected) => {
    assert.strictEqual(refusalIn(output), expected)
  })

  it("reads both ends of a long output", () => {
    const long = "x".repeat(1_000_000)
    assert.strictEqual(refusalIn(`EROFS${long}`), "write")
    assert.strictEqual(refusalIn(`${long}EPERM`), "access")
    assert.isUndefined(refusalIn(`${long}EPERM${long}`))
  })
})

describe("withRefusal", () => {
  const result = { callId: "a", tool: "shell", output: "Permission denied" } as const

  it("adds a hint to a call that failed", () => {
    const failed = withRefusal(draft("run.tool.result", { ...result, status: "failed" }))
    assert.propertyVal(failed.payload, "kernelRefusal", "access")
    const coded = withRefusal(draft("run.tool.result", { ...result, status: "completed", exitCode: 1 }))
    assert.propertyVal(coded.payload, "kernelRefusal", "access")
  })

  it("adds a hint to a Git command that succeeded without its settings", () => {
    const output = `error: could not write config file .git/config: Device or resource busy
Switched to a new branch 'new'`
    const tracked = withRefusal(
      draft("run.tool.result", { ...result, output, status: "completed", exitCode: 0 })
    )
    assert.propertyVal(tracked.payload, "kernelRefusal", "write")
  })

  it("adds none to a call that succeeded, and keeps the status", () => {
    const completed = draft("run.tool.result", { ...result, status: "completed" })
    assert.strictEqual(withRefusal(completed), completed)
    assert.propertyVal(
      withRefusal(draft("run.tool.result", { ...result, status: "failed" })).payload,
      "status",
      "failed"
    )
  })
})
