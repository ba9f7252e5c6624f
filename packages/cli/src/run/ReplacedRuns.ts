/**
 * Runs of an Edge that could not continue their conversation, and whose message began again in the next run: people see that run alone.
 *
 * *Does not:* apply to runs of a Hub, whose lists leave them out.
 */
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { Run } from "@corral/domain/run/Run"

type Listed = Pick<Run, "createdAt" | "error" | "id" | "resume" | "sessionId">

/** `runs`: in any order. The result keeps it. */
export const withoutReplaced = <A extends Listed>(runs: ReadonlyArray<A>): ReadonlyArray<A> => {
  const sessions = Map.groupBy(runs, ({ sessionId }) => sessionId)
  const replaced = new Set<Listed["id"]>()
  for (const [sessionId, ofSession] of sessions) {
    if (sessionId === undefined) continue
    const oldestFirst = ofSession.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
    for (const [at, { error, id, resume }] of oldestFirst.entries()) {
      const next = oldestFirst[at + 1]
      const isAgain = next !== undefined && next.resume === undefined
      if (resume !== undefined && error !== undefined && cannotContinue(error) && isAgain) replaced.add(id)
    }
  }
  return runs.filter(({ id }) => !replaced.has(id))
}
