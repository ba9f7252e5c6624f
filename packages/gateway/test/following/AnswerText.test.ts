import { assert, describe, it } from "@effect/vitest"
import { answerText } from "../../src/following/AnswerText.ts"

describe("what an agent said in the end", () => {
  it.each([
    ["is unchanged", "Fixed the bug in cart.ts.", "Fixed the bug in cart.ts."],
    ["without code", "Done:\n```ts\nconst a = 1\n```\nBye", "Done:\n[…]\nBye"],
    ["without code that never ends", "Done:\n~~~\nconst a = 1", "Done:\n[…]"],
    ["without lines of a diff", "See\n--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\nthere", "See\nthere"],
    ["without folders", "Look at /home/ada/shop/src/cart.ts, please", "Look at cart.ts, please"],
    ["without folders of Windows", "Look at C:\\Users\\ada\\cart.ts", "Look at cart.ts"],
    ["without a home", "in ~/code/shop/ there", "in shop there"],
    ["with addresses", "https://example.com/a/b and a/b stay", "https://example.com/a/b and a/b stay"],
    ["without secrets", `key sk-${"a1".repeat(12)}`, "key [redacted]"]
  ])("%s", (_, text, received) => {
    assert.strictEqual(answerText(text), received)
  })

  it("is nothing where only code is left out", () => {
    assert.isUndefined(answerText("```\ncode\n```"))
    assert.isUndefined(answerText("  "))
  })

  it("is cut", () => {
    const received = answerText("🙂".repeat(5_000)) ?? ""
    assert.isAtMost(received.length, 3_002)
    assert.isTrue(received.isWellFormed())
    assert.isTrue(received.endsWith("…"))
  })
})
