import { continuationFailures } from "@corral/domain/run/Continuation"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { withoutReplaced } from "../../src/run/ReplacedRuns.ts"

type Listed = Parameters<typeof withoutReplaced>[0][number]

/** A run at a second. Ids are shaped by nothing that the function reads. */
const run = (second: number, more: Partial<Listed> = {}) =>
  ({
    id: `run_${second}`,
    createdAt: new Date(second * 1_000).toISOString(),
    sessionId: "ses_1",
    ...more
  }) as Listed

const lost = (reason: string) => ({
  resume: "run_0" as never,
  error: { code: "runtime_unavailable", message: "Lost.", details: { reason } }
})
const ids = (runs: ReadonlyArray<Listed>) => runs.map(({ id }) => String(id))

describe("withoutReplaced", () => {
  it.each(continuationFailures)("leaves out a run whose message began again after %s", (reason) => {
    const runs = [run(2), run(1, lost(reason)), run(0)]
    assert.deepStrictEqual(ids(withoutReplaced(runs)), ["run_2", "run_0"])
  })

  it("keeps failures that no run has replaced", () => {
    const failure = lost("unknown_session")
    for (const runs of [
      // No run follows, another session's does, or the next one continues.
      [run(1, failure), run(0)],
      [run(2, { sessionId: "ses_2" as never }), run(1, failure)],
      [run(2, { resume: "run_0" as never }), run(1, failure), run(0)],
      // Another failure, a run that began a conversation, and one without a session.
      [run(2), run(1, lost("bad_credentials"))],
      [run(2), run(1, { error: failure.error })],
      [run(2), { ...run(1, failure), sessionId: undefined } as unknown as Listed]
    ])
      assert.deepStrictEqual(ids(withoutReplaced(runs)), ids(runs))
  })

  it("keeps the order, and every run that has not failed so, in any list", () => {
    const anyRun = fc
      .record({
        second: fc.nat(50),
        sessionId: fc.constantFrom("ses_1", "ses_2"),
        isLost: fc.boolean(),
        isResumed: fc.boolean()
      })
      .map(({ isLost, isResumed, second, sessionId }) =>
        run(second, {
          sessionId: sessionId as never,
          ...(isResumed ? { resume: "run_0" as never } : {}),
          ...(isLost ? lost("session_in_use") : {})
        })
      )
    fc.assert(
      fc.property(fc.uniqueArray(anyRun, { selector: ({ id }) => id }), (runs) => {
        const shown = withoutReplaced(runs)
        assert.deepStrictEqual(
          ids(shown),
          ids(runs).filter((id) => ids(shown).includes(id))
        )
        for (const each of runs) if (each.error === undefined) assert.include(ids(shown), String(each.id))
        // The last run of a session is never left out.
        for (const last of Map.groupBy(runs, ({ sessionId }) => sessionId).values())
          assert.include(
            ids(shown),
            String(last.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0]?.id)
          )
      })
    )
  })
})
