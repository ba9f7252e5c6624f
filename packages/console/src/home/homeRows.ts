/** Rows of the home page: each session once, as the newest of its runs that is to be shown. Pure. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"

type Run = Pick<HubRun, "createdAt" | "endedAt" | "id" | "sessionId">

export interface HomeRows<A> {
  /** Sessions in progress that wait for no answer of the user. */
  readonly working: ReadonlyArray<A>
  /** Sessions without a run in progress, the last one to end first. */
  readonly finished: ReadonlyArray<A>
}

/** A run without a session stands for itself. */
const workOf = ({ id, sessionId }: Run): string => sessionId ?? id

const newest = <A extends Run>(runs: ReadonlyArray<A>): ReadonlyArray<A> => {
  const rows = new Map<string, A>()
  for (const run of runs) {
    const row = rows.get(workOf(run))
    if (row === undefined || row.createdAt < run.createdAt) rows.set(workOf(run), run)
  }
  return [...rows.values()]
}

/** `waiting`: runs with an own row for what they wait for. `since`: when the user was here last, in milliseconds. */
export const homeRows = <A extends Run>(
  runs: ReadonlyArray<A>,
  { since, waiting }: { readonly since: number; readonly waiting: ReadonlySet<RunId> }
): HomeRows<A> => {
  const waits = new Set(runs.filter(({ id }) => waiting.has(id)).map(workOf))
  const live = runs.filter(({ endedAt }) => endedAt === undefined)
  const busy = new Set([...live.map(workOf), ...waits])
  return {
    working: newest(live.filter((run) => !waits.has(workOf(run)))),
    finished: newest(
      runs.filter(
        (run) => run.endedAt !== undefined && Date.parse(run.endedAt) > since && !busy.has(workOf(run))
      )
    ).toSorted((a, b) => ((a.endedAt ?? "") < (b.endedAt ?? "") ? 1 : -1))
  }
}
