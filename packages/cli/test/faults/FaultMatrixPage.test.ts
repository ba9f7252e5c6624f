/** The published matrix has every cell of the tables, and none that failed. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { faultMatrixPage, resultTitles } from "./FaultMatrixPage.ts"

/** Rows without their results. */
const withoutResults = (page: string): string => page.replaceAll(/ (?:passed|failed|not run) \|/g, " … |")

describe("docs/fault-matrix.md", () => {
  const page = readFileSync(new URL("../../../../docs/fault-matrix.md", import.meta.url), "utf8")

  it("has the cells of the tables", () => {
    const written = faultMatrixPage(new Map(resultTitles.map((title) => [title, "passed"])))
    assert.strictEqual(withoutResults(page), withoutResults(written))
  })

  it("has no cell that failed", () => {
    assert.notMatch(page, / failed \|/)
  })
})
