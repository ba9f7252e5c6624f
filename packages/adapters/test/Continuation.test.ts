/** Conversations that cannot continue, in recordings of the real programs: each is reported before any output. */
import { cannotContinue } from "@corral/domain/run/Continuation"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { replay } from "@corral/conformance/Replay"
import { assert, describe, it } from "@effect/vitest"

const reasons = new Set(["unknown_session", "session_in_use"])
const lost = (id: string) => recordings(id).filter(({ expected }) => reasons.has(expected?.reason ?? ""))

describe("A conversation that cannot continue", () => {
  const continuing = [...registry.values()].filter(({ continuation }) => continuation !== undefined)

  it.each(continuing.map((adapter) => [adapter.id, adapter] as const))(
    "is reported by %s before any output",
    (id, adapter) => {
      const recorded = lost(id)
      assert.isAbove(recorded.length, 0, "there is a recording of a missing conversation")
      for (const recording of recorded) {
        const outputs = replay(adapter, recording, [recording.stdout])
        const events = outputs.flatMap((output) => (output._tag === "Event" ? [output.event.type] : []))
        assert.deepStrictEqual(events, ["runtime.unavailable"], recording.name)
        const outcome = outputs.flatMap((output) => (output._tag === "Outcome" ? [output.outcome] : []))[0]
        assert.isTrue(outcome?._tag === "Failed" && cannotContinue(outcome.error), recording.name)
      }
    }
  )
})
