import { confinedHints } from "@corral/domain/run/ConfinedFailure"
import { assert, describe, it } from "@effect/vitest"
import { failureLines } from "../../src/run/FailureLines.ts"

const failure = (details: Readonly<Record<string, unknown>>) => ({
  code: "runtime_unavailable" as const,
  message: "It ended.",
  details
})

describe("failureLines", () => {
  it("shows the last lines of the program, without control characters, and then the hint", () => {
    const words = Array.from({ length: 20 }, (_, at) => `line \u001b[31m${at}`).join("\n")
    const lines = failureLines(failure({ said: words, confined: "temporary" }))
    assert.strictEqual(lines.length, 13)
    assert.isFalse(lines.some((line) => line.includes("\u001b")))
    assert.match(lines[0] ?? "", /8$/)
    assert.match(lines.at(-1) ?? "", /^Hint: .*\/tmp/)
  })

  it("has a sentence for each hint, and nothing for other failures", () => {
    const texts = confinedHints.map((confined) => failureLines(failure({ confined })).join())
    assert.strictEqual(new Set(texts).size, confinedHints.length)
    assert.deepStrictEqual(failureLines(failure({ said: " ", confined: "other" })), [])
  })
})
