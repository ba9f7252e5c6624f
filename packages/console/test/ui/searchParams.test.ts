import { assert, describe, it } from "@effect/vitest"
import { pickSearchParams } from "../../src/ui/searchParams.ts"
import { promptTitle } from "../../src/runs/RunRows.tsx"
import { uiLanguageOf } from "../../src/text/Language.tsx"
import { tabTitle } from "../../src/ui/PageFrame.tsx"
import { shortenId } from "../../src/ui/Copy.tsx"

describe("pickSearchParams", () => {
  it("returns known names as text and ignores others", () => {
    const read = pickSearchParams("state", "from", "actor")
    assert.deepStrictEqual(read({ state: "failed", from: 2026, actor: "", other: "x", constructor: "y" }), {
      state: "failed",
      from: "2026"
    })
    assert.deepStrictEqual(read({ state: { a: 1 }, from: null, actor: ["x"] }), {})
  })
})

describe("short texts", () => {
  it("keep the prefix and the end of an id", () => {
    assert.strictEqual(shortenId("run_01JZ0000000000000000ABCDEF"), "run_…ABCDEF")
    assert.strictEqual(shortenId("system"), "system")
  })

  it("take the first non-empty line of a prompt", () => {
    assert.strictEqual(promptTitle("\n  \n fix it \nsoon"), "fix it")
    assert.strictEqual(promptTitle(" \n"), "")
  })

  it("show pending approvals in the tab title", () => {
    assert.strictEqual(tabTitle("Runs", 0), "Runs · Corral")
    assert.strictEqual(tabTitle("Runs", 2), "(2) Runs · Corral")
    assert.strictEqual(tabTitle("", 2), "(2) Corral")
  })

  it("are Chinese for browsers with a Chinese locale", () => {
    assert.deepStrictEqual(["zh-CN", "ZH", "en-GB", "de"].map(uiLanguageOf), ["zh", "zh", "en", "en"])
  })
})
