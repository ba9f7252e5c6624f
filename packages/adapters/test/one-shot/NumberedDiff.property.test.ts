import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { patchOfNumbered } from "../../src/Pi.ts"
import { tries } from "@corral/testing/time/Effort"

const Line = Schema.Struct({
  sign: Schema.Literals([" ", "-", "+"]),
  text: Schema.Literals(["a", "", "1 x", "- y"])
})

describe("patchOfNumbered", () => {
  it.prop(
    "keeps every line, and counts both sides",
    [Schema.Array(Line)],
    ([lines]) => {
      let [before, after] = [0, 0]
      const numbered = lines.map(({ sign, text }) => {
        if (sign !== "+") before++
        if (sign !== "-") after++
        return `${sign}${String(sign === "+" ? after : before).padStart(3)} ${text}`
      })
      const patch = patchOfNumbered(numbered.join("\n"), "a.txt")
      if (lines.every(({ sign }) => sign === " ")) return assert.isUndefined(patch)
      const [head, name, hunk, ...body] = (patch ?? "").split("\n")
      assert.deepStrictEqual([head, name], ["--- a/a.txt", "+++ b/a.txt"])
      assert.strictEqual(hunk, `@@ -${before === 0 ? 0 : 1},${before} +${after === 0 ? 0 : 1},${after} @@`)
      assert.deepStrictEqual(
        body.slice(0, -1),
        lines.map(({ sign, text }) => sign + text)
      )
    },
    tries(100)
  )

  it("begins another hunk after lines that are left out, at the right lines of both files", () => {
    const numbered = " 1 a\n-2 b\n+2 B\n+3 C\n   ...\n 9 i\n-10 j\n+11 J"
    assert.strictEqual(
      patchOfNumbered(numbered, "x"),
      "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+B\n+C\n@@ -9,2 +10,2 @@\n i\n-j\n+J\n"
    )
  })
})
