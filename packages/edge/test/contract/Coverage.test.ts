/** The pages of docs/contract that name tests: each is there, and every contract test file is named. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"

const tests = new URL("../", import.meta.url)
const packages = new URL("../../", tests)
const rowsOf = (page: string) =>
  readFileSync(new URL(`../docs/contract/${page}`, packages), "utf8")
    .split("\n")
    .filter((line) => /^\| (?!Row|Code|Line)/.test(line))
const rows = rowsOf("edge-coverage.md")
const namedIn = (row: string) =>
  [...row.matchAll(/`([\w/.-]+\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({ file, name }))

const assertThere = (rows: ReadonlyArray<string>, folder: URL) => {
  for (const row of rows) {
    const named = namedIn(row)
    assert.isNotEmpty(named, row)
    for (const { file, name } of named) {
      const at = new URL(file, folder)
      assert.isTrue(existsSync(at), file)
      assert.include(readFileSync(at, "utf8"), name, file)
    }
  }
}

describe("The coverage of the contract", () => {
  it("names tests that are there, one at least in each row", () => {
    assert.isAbove(rows.length, 60)
    assertThere(rows, tests)
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

describe("The coverage of the adapters", () => {
  it("names tests that are there, one at least in each line", () => {
    const lines = rowsOf("runtimes-coverage.md")
    assert.isAbove(lines.length, 20)
    assertThere(lines, packages)
  })
})
