/**
 * Rows of worktrees. Folders of one worktree, in the Edge's home. Pure, except that it reads which objects the worktree borrows.
 *
 * Guarantees: a row exists before its worktree, so that the next start after a crash can clean up: it removes worktrees in `making`
 * and `removing`, and leaves `kept` ones.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Worktree } from "@corral/domain/run/Worktree"
import { join } from "node:path"
import { hasLiveState } from "../store/LiveState.ts"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"
import { smallFile } from "./UntrustedFiles.ts"

/** The repository of the run that works in the checkout. */
export const runRepositoryOf = (checkout: string): string => `${checkout}.git`

/** The store of the Edge that receives what the run commits. No run sees it. */
export const storeOf = (checkout: string): string => `${checkout}.received`

/** Folder with the objects of the workspace's repository; `undefined` if the folder is not the checkout of a worktree. */
export const borrowedObjectsOf = (checkout: string): string | undefined =>
  smallFile(join(storeOf(checkout), "objects", "info", "alternates"))?.split("\n", 1)[0]

export interface WorktreeRow extends Omit<Worktree, "state" | "branch"> {
  readonly state: "making" | "kept" | "removing" | "removed"
  /** The workspace's `.git`. */
  readonly repository: string
  /** The commit that was checked out when it was removed. */
  readonly head?: string
  /** The newest branch of the run, if there is one. An earlier version stored whether there is one. */
  readonly branch: string | boolean
}

interface Stored {
  readonly worktree: string
}

// This program wrote the row from a value of this type.
const parse = ({ worktree }: Stored): WorktreeRow => parseStored<WorktreeRow>(worktree, "worktree")

export const putRow = (row: WorktreeRow): Write => [
  "INSERT OR REPLACE INTO worktrees (run_id, state, worktree) VALUES (?, ?, ?)",
  row.runId,
  row.state,
  JSON.stringify(row)
]

export const dropRow = (runId: RunId): Write => ["DELETE FROM worktrees WHERE run_id = ?", runId]

/** Deletes the row of a removed worktree. */
export const forgetRow = (runId: RunId): Write => [
  "DELETE FROM worktrees WHERE run_id = ? AND state = 'removed'",
  runId
]

export const findRow = (store: Store["Service"], runId: RunId): WorktreeRow | undefined => {
  const row = store.get<Stored>("SELECT worktree FROM worktrees WHERE run_id = ?", runId)
  return row === undefined ? undefined : parse(row)
}

/** Up to `limit` worktrees before `before` that are not removed, newest first. */
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

/** Worktrees that an Edge was creating or removing. */
export const unsettledRows = (store: Store["Service"]): ReadonlyArray<WorktreeRow> =>
  store.all<Stored>("SELECT worktree FROM worktrees WHERE state IN ('making', 'removing')").map(parse)

/** Ids of the worktrees of live runs. */
export const worktreesInUse = (store: Store["Service"]): ReadonlySet<string> =>
  new Set(
    store
      .all<{ readonly worktree: string | null }>(
        `SELECT json_extract(snapshot, '$.worktree') AS worktree FROM runs WHERE ${hasLiveState}`
      )
      .flatMap(({ worktree }) => (worktree === null ? [] : [worktree]))
  )
