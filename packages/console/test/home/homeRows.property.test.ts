import { assert, describe, it } from "@effect/vitest"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import * as fc from "fast-check"
import { homeRows } from "../../src/home/HomePage.tsx"

const time = (n: number): string => new Date(n * 1_000).toISOString()

/** Turns of few sessions, some of them without one, that begin one after the other. */
const runs = fc
  .array(
    fc.record({
      session: fc.option(fc.integer({ min: 0, max: 4 })),
      lasts: fc.option(fc.integer({ min: 1, max: 9 })),
      waits: fc.boolean()
    }),
    { maxLength: 30 }
  )
  .map((turns) =>
    turns.map(({ lasts, session, waits }, nth) => ({
      id: `run_${nth}` as RunId,
      ...(session === null ? {} : { sessionId: `ses_${session}` as SessionId }),
      createdAt: time(nth),
      ...(lasts === null ? {} : { endedAt: time(nth + lasts) }),
      waits: waits && lasts === null
    }))
  )

describe("homeRows", () => {
  it("has each session at most once, in the newest of its turns, and none that has a request's row", () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 0, max: 30 }), (all, since) => {
        const waiting = new Set(all.flatMap(({ id, waits }) => (waits ? [id] : [])))
        const { finished, working } = homeRows(all, { since: since * 1_000, waiting })
        const workOf = ({ id, sessionId }: (typeof all)[number]): string => sessionId ?? id
        const rows = [...working, ...finished].map(workOf)
        assert.strictEqual(new Set(rows).size, rows.length)
        for (const run of all) {
          const turns = all.filter((other) => workOf(other) === workOf(run))
          const isWaiting = turns.some(({ waits }) => waits)
          const isLive = turns.some(({ endedAt }) => endedAt === undefined)
          const isSeen = turns.every(({ endedAt = "" }) => Date.parse(endedAt) <= since * 1_000)
          assert.strictEqual(
            working.some((row) => workOf(row) === workOf(run)),
            isLive && !isWaiting
          )
          assert.strictEqual(
            finished.some((row) => workOf(row) === workOf(run)),
            !isLive && !isSeen
          )
        }
        for (const row of working)
          assert.isFalse(
            all.some(
              (run) =>
                workOf(run) === workOf(row) && run.endedAt === undefined && run.createdAt > row.createdAt
            )
          )
        const ends = finished.map(({ endedAt = "" }) => endedAt)
        assert.deepStrictEqual(ends, ends.toSorted().toReversed())
      })
    )
  })
})
