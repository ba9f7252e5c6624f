/**
 * Writes `events.json` of every recording from what the adapters say now: `node packages/adapters/test/golden.ts`.
 * Read the difference before it is committed: this file makes tests pass, not right. How a run ended is written by people alone.
 */
import { writeExpectedOutputs } from "@corral/conformance/Recordings"
import { fixtures, registry } from "@corral/testing/recordings/Fixtures"

for (const [id, adapter] of registry) writeExpectedOutputs(adapter, `${fixtures}${id}`)
