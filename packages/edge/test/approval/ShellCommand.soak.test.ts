/** Hostile command lines: each is classified in bounded parts, and within the time of a short line. */
import { assert, describe, it } from "@effect/vitest"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import { Seeded } from "../harness/Seeded.ts"
import { policyOf, shell } from "./RunPolicies.ts"
import { hostileLine } from "./ShellGrammar.ts"

const HOSTILE = 400_000
/** Far above what any line takes on a machine that has time for it; a line that takes the square of its length takes longer. */
const LONGEST_MS = 40
const AGAIN = 5

describe("The classification of a command line", () => {
  it(`ends for ${HOSTILE} hostile lines, each in bounded parts and without holding up the Edge`, () => {
    const random = new Seeded("hostile lines")
    const policies = (["ask", "read_only"] as const).map((mode) =>
      policyOf({
        mode,
        configured: [
          { action: "shell", command: ["git", "log"], prefix: true },
          { action: "write", files: ["**/**/**/a*b*c"] }
        ]
      })
    )
    const check = (line: string): void => {
      for (const policy of policies) {
        const assessed = policy.assess(shell(line))
        const verdict = policy.judge(assessed)
        const { segments = [] } = assessed.request
        assert.isAtMost(segments.length, 64)
        if (segments.some(({ opaque }) => opaque !== undefined)) {
          assert.strictEqual(assessed.request.risk, "high")
          assert.notStrictEqual(verdict._tag, "Allow")
        }
      }
    }
    const millisOf = (line: string): number => cpuMillisOf(() => check(line))
    let longest = 0
    for (let at = 0; at < HOSTILE; at++) {
      const line = hostileLine(random)
      let millis = millisOf(line)
      // Something else ran meanwhile: what takes long takes long again.
      for (let again = 0; millis > LONGEST_MS && again < AGAIN; again++)
        millis = Math.min(millis, millisOf(line))
      assert.isBelow(millis, LONGEST_MS, JSON.stringify(line.slice(0, 200)))
      longest = Math.max(longest, millis)
    }
    console.log(`the longest of ${HOSTILE} hostile lines took ${longest.toFixed(1)} ms`)
  })
})
