/** Every built-in adapter against every recording of its program. A new adapter needs `fixtures/<id>/` and no new test. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { conformance } from "../src/conformance.ts"
import { replay } from "../src/conformance/Replay.ts"
import { fixtures, recordings, registry } from "./Fixtures.ts"

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
