/** Every test that may be skipped says why in the summary. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { reasons, skipped } from "./Skipped.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

describe("The summary of a test run", () => {
  it("lists the reason for each file with skipped tests", () => {
    const files = globSync(
      ["packages/*/test/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
      { cwd: root }
    )
    const skipping = files.filter((file) => /\.(skipIf|runIf|skip)\(/.test(readFileSync(root + file, "utf8")))
    assert.deepStrictEqual(skipping.toSorted(), Object.keys(reasons).toSorted())
  })

  it("counts skipped tests by file", () => {
    const name = "packages/edge/test/process/ControlGroup.test.ts"
    const assertionResults = [{ status: "pending" }, { status: "passed" }, { status: "skipped" }]
    const all = {
      name: `${root}examples/custom-adapter/Deployer.test.ts`,
      assertionResults: [{ status: "passed" }]
    }
    assert.deepStrictEqual(skipped([{ name: root + name, assertionResults }, all], root), [
      `  2 in ${name}: this user cannot make control groups`
    ])
  })
})
