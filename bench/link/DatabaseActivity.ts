/** What the processes of a pair's PostgreSQL have done so far. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import type { LinkPair } from "./LinkPair.ts"

/** The database's processes and the number of its commits. */
export const databaseActivity = ({ act }: LinkPair) =>
  act(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const processes = yield* sql<{ readonly pid: number }>`SELECT pid FROM pg_stat_activity`
      const [found] = yield* sql<{ readonly commits: number }>`
        SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = current_database()`
      return { pids: processes.map(({ pid }) => pid), commits: found?.commits ?? 0 }
    })
  )

/** A connection that was closed since has no time. */
const cpuIfAlive = (pid: number): number => {
  try {
    return cpuMicrosOf(pid)
  } catch {
    return 0
  }
}

/** Processor time in microseconds of those that are alive. */
export const cpuOfAll = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => sum + cpuIfAlive(pid), 0)
