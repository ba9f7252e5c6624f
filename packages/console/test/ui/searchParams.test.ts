import { assert, describe, it } from "@effect/vitest"
import { pickSearchParams } from "../../src/ui/searchParams.ts"
import { firstLine } from "../../src/runs/RunRows.tsx"
import { uiLanguageOf } from "../../src/text/Language.tsx"
import { tabTitle } from "../../src/ui/Page.tsx"
import { shortened } from "../../src/ui/ShortId.tsx"

describe("what an address says", () => {
  it("is texts under known names, and nothing else", () => {
    const read = pickSearchParams("state", "from", "actor")
    assert.deepStrictEqual(read({ state: "failed", from: 2026, actor: "", other: "x", constructor: "y" }), {
      state: "failed",
      from: "2026"
    })
    assert.deepStrictEqual(read({ state: { a: 1 }, from: null, actor: ["x"] }), {})
  })
})

describe("what is shown short", () => {
  it("keeps the kind and the end of an id", () => {
    assert.strictEqual(shortened("run_01JZ0000000000000000ABCDEF"), "run_…ABCDEF")
    assert.strictEqual(shortened("system"), "system")
  })

  it("takes the first line of a prompt that says something", () => {
    assert.strictEqual(firstLine("\n  \n fix it \nsoon"), "fix it")
    assert.strictEqual(firstLine(" \n"), "")
  })

  it("tells in the tab what waits", () => {
    assert.strictEqual(tabTitle("Runs", 0), "Runs · Corral")
    assert.strictEqual(tabTitle("Runs", 2), "(2) Runs · Corral")
    assert.strictEqual(tabTitle("", 2), "(2) Corral")
  })

  it("speaks Chinese with browsers that do", () => {
    assert.deepStrictEqual(["zh-CN", "ZH", "en-GB", "de"].map(uiLanguageOf), ["zh", "zh", "en", "en"])
  })
})
