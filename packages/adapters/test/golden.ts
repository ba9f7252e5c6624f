/**
 * Writes `events.json` of every recording from what the adapters say now: `node packages/adapters/test/golden.ts`.
 * Read the difference before it is committed: this file makes tests pass, not right. `expected.json` is written by people alone.
 */
import { writeFileSync } from "node:fs"
import { replay } from "../src/conformance/Replay.ts"
import { fixtures, recordings, registry } from "@corral/testing/recordings/Fixtures"

for (const [id, adapter] of registry) {
  for (const recording of recordings(id)) {
    const lines = replay(adapter, recording, [recording.stdout]).map(
      (output) => `  ${JSON.stringify(output)}`
    )
    writeFileSync(`${fixtures}${id}/${recording.name}/events.json`, `[\n${lines.join(",\n")}\n]\n`)
  }
}
