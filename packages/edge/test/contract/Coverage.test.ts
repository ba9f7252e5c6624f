/** docs/contract/edge-coverage.md names tests: each is there, and every contract test file is named. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"

const tests = new URL("../", import.meta.url)
const page = readFileSync(new URL("../../../../docs/contract/edge-coverage.md", import.meta.url), "utf8")
const rows = page.split("\n").filter((line) => /^\| (?!Row|Code)/.test(line))
const namedIn = (row: string) =>
  [...row.matchAll(/`([\w/]+(?:\.test)?\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({
    file,
    name
  }))

describe("The coverage of the contract", () => {
  it("names tests that are there, one at least in each row", () => {
    assert.isAbove(rows.length, 60)
    for (const row of rows) {
      const named = namedIn(row)
      assert.isNotEmpty(named, row)
      for (const { file, name } of named) {
        const at = new URL(file, tests)
        assert.isTrue(existsSync(at), file)
        assert.include(readFileSync(at, "utf8"), name, file)
      }
    }
  })

  it("leaves no contract test out", () => {
    const named = new Set(rows.flatMap(namedIn).map(({ file }) => file))
    const files = readdirSync(new URL("contract/", tests))
      .filter((name) => name.endsWith(".test.ts") && !name.endsWith(".soak.test.ts"))
      .map((name) => `contract/${name}`)
    assert.deepStrictEqual(
      files.filter((file) => !named.has(file)),
      ["contract/Coverage.test.ts"]
    )
  })
})
