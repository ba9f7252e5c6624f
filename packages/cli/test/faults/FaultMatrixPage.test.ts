/** The published matrix has every cell of the tables, and all of them passed. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { faultMatrixPage, resultTitles } from "./FaultMatrixPage.ts"

describe("docs/fault-matrix.md", () => {
  it("is what a whole run without a failure writes", () => {
    const page = readFileSync(new URL("../../../../docs/fault-matrix.md", import.meta.url), "utf8")
    assert.strictEqual(page, faultMatrixPage(new Map(resultTitles.map((title) => [title, "passed"]))))
  })
})
