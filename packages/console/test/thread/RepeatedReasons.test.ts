/** Turns of a thread that need not say why they are not confined. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { assert, describe, it } from "@effect/vitest"
import { repeatedReasons, type ThreadEntry } from "../../src/thread/Turns.ts"

const NO_BUBBLEWRAP = "bubblewrap is not installed."
const NO_SOCAT = "socat is not installed."

const repeatedOf = (...reasons: ReadonlyArray<string | undefined>): ReadonlyArray<string> => {
  const runs = reasons.map((reason, nth) => ({
    id: `run_${nth}`,
    mode: "ask",
    confinement: reason === undefined ? { kind: "bubblewrap" } : { kind: "none", reason }
  }))
  const entries = runs.map(({ id }) => ({ kind: "turn", key: id, runId: id, prompts: [], answer: undefined }))
  // Ids of the domain are branded text, and only these fields are read.
  const runsById = new Map(runs.map((run) => [run.id, run])) as unknown as ReadonlyMap<HubRun["id"], HubRun>
  return [...repeatedReasons(entries as unknown as ReadonlyArray<ThreadEntry>, runsById)]
}

describe("repeatedReasons", () => {
  it("has the turns after the first with each reason", () => {
    assert.deepStrictEqual(repeatedOf(NO_BUBBLEWRAP, NO_BUBBLEWRAP, NO_SOCAT, NO_BUBBLEWRAP, NO_SOCAT), [
      "run_1",
      "run_3",
      "run_4"
    ])
  })

  it("has no confined turn, and no turn whose run is not loaded", () => {
    assert.deepStrictEqual(repeatedOf(undefined, undefined, NO_BUBBLEWRAP), [])
    const entry = { kind: "turn", key: "run_9", runId: "run_9", prompts: [], answer: undefined }
    assert.strictEqual(repeatedReasons([entry as unknown as ThreadEntry], new Map()).size, 0)
  })
})
