/** The page of docs/contract that names the Hub's tests: each is there, and every contract test file is named. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"

const tests = new URL("../", import.meta.url)
const page = readFileSync(new URL("../../../docs/contract/hub-coverage.md", tests), "utf8")
const rows = page.split("\n").filter((line) => /^\| (?!Row)/.test(line))
const namedIn = (row: string) =>
  [...row.matchAll(/`([\w/.-]+\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({ file, name }))

describe("The coverage of the Hub's contract", () => {
  it.each(rows)("%s", (row) => {
    const named = namedIn(row)
    assert.isNotEmpty(named)
    for (const { file, name } of named) {
      const at = new URL(file, tests)
      assert.isTrue(existsSync(at), file)
      assert.include(readFileSync(at, "utf8"), name, file)
    }
  })

  it("leaves no contract test out", () => {
    const named = new Set(rows.flatMap(namedIn).map(({ file }) => file))
    const files = readdirSync(new URL("contract/", tests))
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `contract/${name}`)
    assert.deepStrictEqual(
      files.filter((file) => !named.has(file)),
      ["contract/Coverage.test.ts"]
    )
  })
})
