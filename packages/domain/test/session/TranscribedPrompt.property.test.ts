import { messageOfPrompt, transcribedPrompt } from "@corral/domain/session/TranscribedPrompt"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const line = fc
  .string({ unit: "grapheme" })
  .map((text) => `| ${text.replaceAll(/[\r\n\u2028\u2029]/gu, " ")}`)
const message = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.array(fc.constantFrom("| a", "", "b", "| "), { maxLength: 6 }).map((lines) => lines.join("\n"))
)

describe("messageOfPrompt", () => {
  it("returns the message of any transcript, also of a transcript in the message", () =>
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), message, (entries, text) => {
        const prompt = transcribedPrompt(entries, text)
        assert.strictEqual(messageOfPrompt(prompt), text)
        assert.strictEqual(messageOfPrompt(transcribedPrompt(entries, prompt)), prompt)
      })
    ))

  it("returns any other prompt unchanged", () => {
    fc.assert(fc.property(message, (text) => assert.strictEqual(messageOfPrompt(text), text)))
    for (const cut of [transcribedPrompt([], ""), transcribedPrompt(["| a"], "b").slice(0, -3)])
      assert.strictEqual(messageOfPrompt(cut), cut)
  })
})
