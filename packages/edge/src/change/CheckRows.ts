/** Rows of the checks of runs. A run with checks has one, from its creation on. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Check, CheckResult, RunChecks } from "@corral/domain/run/Check"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

interface Stored {
  readonly checks: string
}

// This program wrote the row from a value of this type.
const parse = ({ checks }: Stored): RunChecks => parseStored<RunChecks>(checks, "checks of a run")

export const findChecks = (store: Store["Service"], runId: RunId): RunChecks | undefined => {
  const row = store.get<Stored>("SELECT checks FROM run_checks WHERE run_id = ?", runId)
  return row === undefined ? undefined : parse(row)
}

/** Checks that wait or are executed, oldest first. */
export const openChecks = (store: Store["Service"]): ReadonlyArray<RunChecks> =>
  store.all<Stored>("SELECT checks FROM run_checks WHERE state != 'ended' ORDER BY run_id").map(parse)

export const putChecks = (checks: RunChecks): Write => [
  "INSERT OR REPLACE INTO run_checks (run_id, state, checks) VALUES (?, ?, ?)",
  checks.runId,
  checks.endedAt === undefined ? "open" : "ended",
  JSON.stringify(checks)
]

export const forgetChecks = (runId: RunId): Write => ["DELETE FROM run_checks WHERE run_id = ?", runId]

/** Rows of a new run. */
export const plannedChecks = (
  runId: RunId,
  checks: ReadonlyArray<Check> | undefined = []
): ReadonlyArray<Write> =>
  checks.length === 0
    ? []
    : [
        putChecks({
          runId,
          results: checks.map(({ command, name }): CheckResult => ({ name, command, state: "waiting" }))
        })
      ]
