/** The page of docs/contract that names what tests the Gateway's contract: each test is there. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"

const packages = new URL("../../../", import.meta.url)
const page = readFileSync(new URL("../docs/contract/gateway-coverage.md", packages), "utf8")
const rows = page.split("\n").filter((line) => /^\| (?!Row)/.test(line))

describe("The coverage of the Gateway's contract", () => {
  it.each(rows)("%s", (row) => {
    const named = [...row.matchAll(/`([\w/.-]+\.ts)` "([^"]+)"/g)]
    assert.isNotEmpty(named)
    for (const [, file = "", name = ""] of named) {
      const at = new URL(file, packages)
      assert.isTrue(existsSync(at), file)
      assert.include(readFileSync(at, "utf8"), name, file)
    }
  })
})
