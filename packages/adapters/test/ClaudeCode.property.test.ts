import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { claudeCode } from "../src/ClaudeCode.ts"
import { differences } from "../src/conformance.ts"
import { mutated } from "../src/conformance/Hostile.ts"
import { always } from "../src/conformance/Invariants.ts"
import { cut, randomSizes, replay } from "../src/conformance/Replay.ts"
import { recordings } from "./Fixtures.ts"

describe("ClaudeCode", () => {
  for (const recording of recordings("claude-code")) {
    const { name, stdout } = recording
    const whole = replay(claudeCode, recording, [stdout])

    it.prop(
      `${name}: the same outputs at any reads`,
      [Schema.Int],
      ([seed]) => {
        const reads = cut(stdout, randomSizes(stdout, seed))
        assert.deepStrictEqual(differences("at random", replay(claudeCode, recording, reads), whole), [])
      },
      { arbitrary: { runs: 20 } }
    )

    it.prop(
      `${name}: valid outputs and one outcome, however it is spoilt`,
      [Schema.Int],
      ([seed]) => {
        const bytes = mutated(stdout, seed)
        const outputs = replay(claudeCode, recording, [bytes])
        assert.deepStrictEqual(always(outputs), [])
        const reads = cut(bytes, randomSizes(bytes, seed + 1))
        assert.deepStrictEqual(differences("at random", replay(claudeCode, recording, reads), outputs), [])
      },
      { arbitrary: { runs: 20 } }
    )
  }

  it("cut at every byte of one run: one outcome each time", () => {
    const [recording] = recordings("claude-code").filter(({ name }) => name === "auth-missing")
    assert(recording !== undefined)
    for (let at = 0; at < recording.stdout.length; at++) {
      assert.deepStrictEqual(
        always(replay(claudeCode, recording, [recording.stdout.subarray(0, at)])),
        [],
        `cut at ${at}`
      )
    }
  })
})
