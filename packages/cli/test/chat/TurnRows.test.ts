import { encodeUlid, type RunId } from "@corral/domain/identity/Ids"
import { decodeEvent } from "@corral/domain/run/RunEvent"
import { checkStepCosts } from "@corral/testing/recordings/CrowdedRun"
import { envelopeAt } from "@corral/testing/hub/Mirror"
import { describe, it } from "@effect/vitest"
import { Result } from "effect"
import { TurnRows } from "../../src/chat/TurnRows.ts"

const runId = `run_${encodeUlid(1, new Uint8Array(10))}` as RunId // made as ids are made

describe("TurnRows", () => {
  it("applies an event of any type with the same number of operations however much is open", () => {
    checkStepCosts(() => {
      const rows = new TurnRows(
        () => 80,
        (user) => user
      )
      let seq = 0
      return (event) =>
        rows.apply({
          decoded: Result.getOrThrow(decodeEvent(envelopeAt(runId, ++seq, event))),
          missing: undefined
        })
    })
  })
})
