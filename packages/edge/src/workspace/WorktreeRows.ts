/**
 * The rows of worktrees. A row is there before anything of its worktree is, and says at every moment what a start after a crash has to do:
 * `making` and `removing` are taken down, `kept` stays.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Worktree } from "@corral/domain/run/Worktree"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

export interface WorktreeRow extends Omit<Worktree, "state" | "branch"> {
  readonly state: "making" | "kept" | "removing" | "removed"
  /** The workspace's `.git`. */
  readonly repository: string
  /** What was checked out when it was removed. */
  readonly head?: string
  /** Commits that are kept elsewhere: the branch may go where it is at one of them. */
  readonly saved: ReadonlyArray<string>
  /** Whether its branch is there. */
  readonly branch: boolean
}

interface Stored {
  readonly worktree: string
}

// Rows are written by this program from values of that type and read back unchanged.
const parse = ({ worktree }: Stored): WorktreeRow => parseStored<WorktreeRow>(worktree, "worktree")

export const putRow = (row: WorktreeRow): Write => [
  "INSERT OR REPLACE INTO worktrees (run_id, state, worktree) VALUES (?, ?, ?)",
  row.runId,
  row.state,
  JSON.stringify(row)
]

export const dropRow = (runId: RunId): Write => ["DELETE FROM worktrees WHERE run_id = ?", runId]

/** Where its worktree is gone, nothing more is known of it. */
export const forgetRow = (runId: RunId): Write => [
  "DELETE FROM worktrees WHERE run_id = ? AND state = 'removed'",
  runId
]

export const findRow = (store: Store["Service"], runId: RunId): WorktreeRow | undefined => {
  const row = store.get<Stored>("SELECT worktree FROM worktrees WHERE run_id = ?", runId)
  return row === undefined ? undefined : parse(row)
}

/** Those that were not removed, newest first, those before `before`, at most `limit`. */
export const pageOfRows = (
  store: Store["Service"],
  before: string | undefined,
  limit: number
): ReadonlyArray<WorktreeRow> =>
  store
    .all<Stored>(
      "SELECT worktree FROM worktrees WHERE state != 'removed' AND run_id < ? ORDER BY run_id DESC LIMIT ?",
      before ?? "run_~",
      limit
    )
    .map(parse)

/** Those that an Edge was making or removing. */
export const unsettledRows = (store: Store["Service"]): ReadonlyArray<WorktreeRow> =>
  store.all<Stored>("SELECT worktree FROM worktrees WHERE state IN ('making', 'removing')").map(parse)

/** The worktrees that a run lives in. */
export const occupied = (store: Store["Service"]): ReadonlySet<string> =>
  new Set(
    store
      .all<{ readonly worktree: string | null }>(
        "SELECT json_extract(snapshot, '$.worktree') AS worktree FROM runs WHERE state IN ('created', 'starting', 'running', 'waiting_approval')"
      )
      .flatMap(({ worktree }) => (worktree === null ? [] : [worktree]))
  )
