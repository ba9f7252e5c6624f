/** Every built-in adapter against every recording of its program. A new adapter needs `fixtures/<id>/` and no new test. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import type { AdapterOutput, Protocol, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { claudeCode } from "../src/ClaudeCode.ts"
import { conformance } from "../src/conformance.ts"
import { replay } from "../src/conformance/Replay.ts"
import { fixtures, load, recordings, registry } from "@corral/testing/recordings/Fixtures"

for (const [id, adapter] of registry) {
  describe(id, () => {
    for (const check of conformance(adapter, recordings(id))) {
      it(check.name, () => assert.deepStrictEqual(check.problems(), []))
    }

    for (const recording of recordings(id)) {
      it(`${recording.name}: means what a person read in it`, () => {
        const golden: unknown = JSON.parse(
          readFileSync(`${fixtures}${id}/${recording.name}/events.json`, "utf8")
        )
        const outputs: unknown = JSON.parse(JSON.stringify(replay(adapter, recording, [recording.stdout])))
        assert.deepStrictEqual(outputs, golden)
      })
    }
  })
}

describe("the suite", () => {
  /** Claude Code with one fault. */
  const faulty = (fault: (protocol: Protocol) => Partial<Protocol>): RuntimeAdapter => ({
    ...claudeCode,
    protocol: (start) => {
      const protocol = claudeCode.protocol(start)
      const { open, step, end, answer, input, cancel } = protocol
      return { open, step, end, answer, input, cancel, ...fault(protocol) }
    }
  })
  const without = (wanted: (output: AdapterOutput) => boolean) =>
    faulty((protocol) => ({
      step: (chunk) => protocol.step(chunk).filter((output) => !wanted(output)),
      end: (end) => protocol.end(end).filter((output) => !wanted(output))
    }))
  const isEvent = (type: string) => (output: AdapterOutput) =>
    output._tag === "Event" && output.event.type === type
  const faults: ReadonlyArray<readonly [string, RuntimeAdapter]> = [
    [
      "forgets half a line between reads",
      faulty((protocol) => ({ step: (chunk) => (chunk.at(-1) === 10 ? protocol.step(chunk) : []) }))
    ],
    ["leaves calls open", without(isEvent("run.tool.result"))],
    [
      "loses a delta",
      without(
        (output) => isEvent("run.message.delta")(output) && JSON.stringify(output).includes("that asks")
      )
    ],
    ["never ends", without((output) => output._tag === "Outcome")],
    [
      "ends twice",
      faulty((protocol) => ({
        end: () => [
          ...protocol.end({ code: 0, signal: null, stderr: "" }),
          { _tag: "Outcome", outcome: { _tag: "Cancelled" } }
        ]
      }))
    ]
  ]
  for (const [name, adapter] of faults) {
    it(`finds an adapter that ${name}`, () => {
      const [asPrinted] = conformance(adapter, [load("claude-code", "approval-allowed")])
      assert.isNotEmpty(asPrinted?.problems())
    })
  }
})
