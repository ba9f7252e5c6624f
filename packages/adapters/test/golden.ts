/**
 * Writes `events.json` of every recording of Claude Code from what the adapter says now: `node packages/adapters/test/golden.ts`.
 * Read the difference before it is committed: this file makes tests pass, not right. `expected.json` is written by people alone.
 */
import { writeFileSync } from "node:fs"
import { claudeCode } from "../src/ClaudeCode.ts"
import { replay } from "../src/conformance/Replay.ts"
import { fixtures, recordings } from "./Fixtures.ts"

for (const recording of recordings("claude-code")) {
  const lines = replay(claudeCode, recording, [recording.stdout]).map(
    (output) => `  ${JSON.stringify(output)}`
  )
  writeFileSync(`${fixtures}claude-code/${recording.name}/events.json`, `[\n${lines.join(",\n")}\n]\n`)
}
