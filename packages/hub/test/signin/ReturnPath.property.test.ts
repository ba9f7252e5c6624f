import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { returnPathOf } from "../../src/signin/LoginAttempts.ts"

const HUB = "https://hub.example"

/** Pieces of which addresses that lead away are made. */
const Piece = Schema.Literals([
  "/",
  "//",
  "\\",
  "%2f",
  "%5C",
  "..",
  ".",
  ":",
  "@",
  "?",
  "#",
  "\t",
  "\n",
  "\u0000",
  "\ud800",
  " ",
  "evil.example",
  "https:",
  "javascript:"
])

describe("returnPathOf", () => {
  it.prop("stays on the Hub for any input", [Schema.Array(Piece), Schema.String], ([pieces, text]) => {
    for (const candidate of [pieces.join(""), text, `/${pieces.join("")}`, pieces.join("") + text]) {
      const path = returnPathOf(candidate)
      assert.isTrue(path.startsWith("/") && !/^\/[/\\]/.test(path), path)
      // Resolved against the origin, and alone, also after another decoding.
      assert.strictEqual(new URL(HUB + path).origin, HUB)
      assert.strictEqual(new URL(path, HUB).origin, HUB)
      assert.match(path, /^[!-[\]-~]+$/)
      const decoded = path.replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\")
      assert.strictEqual(new URL(decoded, HUB).origin, HUB)
      assert.strictEqual(returnPathOf(path), path)
    }
  })

  it.each([
    ["/", "/"],
    ["/runs/run_1?tab=diff#L3", "/runs/run_1?tab=diff#L3"],
    ["/a/../b", "/b"],
    ["/projekte/größe", "/projekte/gr%C3%B6%C3%9Fe"],
    ["/a?next=https://evil.example", "/a?next=https://evil.example"],
    [undefined, "/"]
  ])("maps %s to %s", (requested, path) => {
    assert.strictEqual(returnPathOf(requested), path)
  })
})
