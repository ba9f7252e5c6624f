import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { differences } from "../src/conformance.ts"
import { mutated } from "../src/conformance/Hostile.ts"
import { invariantProblems } from "../src/conformance/Invariants.ts"
import { cut, randomSizes, replay } from "../src/conformance/Replay.ts"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { effort, tries } from "@corral/testing/time/Effort"

/** Bytes from one cut to the next: neighbours are of one kind nearly everywhere. */
const STEP = effort > 1 ? 1 : 3

for (const [id, adapter] of registry) {
  describe(id, () => {
    for (const recording of recordings(id)) {
      const { name, stdout } = recording
      const whole = replay(adapter, recording, [stdout])

      it.prop(
        `${name}: the same outputs at any reads`,
        [Schema.Int],
        ([seed]) => {
          const reads = cut(stdout, randomSizes(stdout, seed))
          assert.deepStrictEqual(differences("at random", replay(adapter, recording, reads), whole), [])
        },
        tries(8)
      )

      it.prop(
        `${name}: valid outputs and one outcome, however it is spoilt`,
        [Schema.Int],
        ([seed]) => {
          const bytes = mutated(stdout, seed)
          const outputs = replay(adapter, recording, [bytes])
          assert.deepStrictEqual(invariantProblems(outputs), [])
          const reads = cut(bytes, randomSizes(bytes, seed + 1))
          assert.deepStrictEqual(differences("at random", replay(adapter, recording, reads), outputs), [])
        },
        tries(8)
      )
    }

    it("cut anywhere in its shortest recording that says something: one outcome each time", () => {
      const [shortest] = recordings(id)
        .filter(({ stdout }) => stdout.length > 500)
        .toSorted((a, b) => a.stdout.length - b.stdout.length)
      assert(shortest !== undefined)
      for (let at = 0; at < shortest.stdout.length; at += STEP) {
        const outputs = replay(adapter, shortest, [shortest.stdout.subarray(0, at)])
        assert.deepStrictEqual(invariantProblems(outputs), [], `${shortest.name} cut at ${at}`)
      }
    })
  })
}
