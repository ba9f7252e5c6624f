import { assert, describe, it } from "@effect/vitest"
import { refusalText } from "../../src/answer/Phrases.ts"

describe("refusalText", () => {
  it.each([
    ["command_missing", "The agent's program is missing on the machine."],
    ["not_signed_in", "The agent's program is not signed in on the machine."],
    ["no_answer", "claude did not respond."]
  ])("names the cause of an unavailable runtime by its reason, %s", (reason, text) => {
    const refused = {
      code: "runtime_unavailable",
      message: "claude did not respond.",
      details: { reason }
    } as const
    assert.strictEqual(refusalText(refused).en, text)
  })

  it("is the Hub's message for a code without a text", () => {
    assert.strictEqual(refusalText({ code: "conflict", message: "Changed." }).en, "Changed.")
  })
})
