import type { EventDraft } from "@corral/domain/run/RunEvent"
import { crowdedRun } from "@corral/testing/recordings/CrowdedRun"
import { countOperations } from "@corral/testing/time/CountedOperations"
import { assert, describe, it } from "@effect/vitest"
import type { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { readLoggedRun } from "../../src/run/recovery/Recovery.ts"
import { at, newRunId, runOf } from "../Samples.ts"

/** A log with these events in one batch. */
const logOf = (events: ReadonlyArray<EventDraft>): EdgeEventLog["Service"] => {
  const runId = newRunId()
  const encode = makeEventEncoder({ runId, sessionId: undefined, agentId: runOf(runId).agentId })
  const lines = events.map((event, n) => encode(n + 1, at, event)).join("\n")
  const batch = { batch: 0, runId, firstSeq: 1, lastSeq: events.length, lines, bytes: Buffer.from(lines) }
  const read = (_: unknown, after: number) => (after === 0 ? [{ ...batch, terminal: false }] : [])
  return { read } as unknown as EdgeEventLog["Service"] // the only method that a reader of a log calls
}

describe("readLoggedRun", () => {
  it("reads each event of a log with the same number of operations however much is open", () => {
    const perEvent = (size: number): number => {
      const events = crowdedRun(size)
      const log = logOf(events)
      return countOperations(() => readLoggedRun(log, runOf(newRunId()))) / events.length
    }
    assert.isAtMost(perEvent(2_000), perEvent(200) * 1.1)
  })
})
