/** CI's closing line counts every failure of every run. */
import { assert, describe, it } from "@effect/vitest"
import { summaryLines, type TestResults } from "./TestSummary.ts"

const run = (passed: number, more: Partial<TestResults> = {}): TestResults => ({
  success: true,
  numPassedTests: passed,
  numFailedTests: 0,
  testResults: [],
  ...more
})
const file = (status: string, tests: ReadonlyArray<string>) => ({
  name: "/corral/packages/a.test.ts",
  status,
  message: tests.length === 0 ? "Cannot find module" : "",
  assertionResults: tests.map((each) => ({
    status: each,
    fullName: "a thing works",
    failureMessages: each === "failed" ? ["Error: it does not\n    at a.test.ts"] : []
  }))
})

describe("The summary of several test runs", () => {
  it("adds the tests of all runs", () => {
    assert.deepStrictEqual(summaryLines([run(3), run(2, { success: false, numFailedTests: 1 })], "/corral"), [
      "5 passed, 1 failed"
    ])
  })

  it("names what failed, and counts a file that could not be run as a failure", () => {
    const testResults = [file("failed", []), file("failed", ["failed"]), file("passed", ["passed"])]
    const broken = run(1, { success: false, numFailedTests: 1, testResults })
    assert.deepStrictEqual(summaryLines([run(3), broken], "/corral"), [
      "failed:",
      "  packages/a.test.ts: Cannot find module",
      "  packages/a.test.ts, a thing works: Error: it does not",
      "4 passed, 2 failed"
    ])
  })

  it("counts a run without results, and one that failed without a failed test, as failures", () => {
    assert.deepStrictEqual(summaryLines([undefined, run(2)], "/corral"), ["2 passed, 1 failed"])
    assert.deepStrictEqual(summaryLines([run(1), run(2, { success: false })], "/corral"), [
      "3 passed, 1 failed"
    ])
  })

  it("lists skipped tests of all runs before the closing line", () => {
    const one = run(1, { testResults: [file("passed", ["pending", "passed"])] })
    assert.deepStrictEqual(summaryLines([run(1), one], "/corral"), [
      "skipped:",
      "  1 in packages/a.test.ts: no reason is known",
      "2 passed, 0 failed"
    ])
  })
})
