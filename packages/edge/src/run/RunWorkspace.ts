/**
 * A run and its folder: the snapshot before it starts, and what is found when nothing of it is alive any more.
 *
 * A run that may change nothing is held to it whatever its runtime says: files that changed meanwhile make it `failed`. Who changed
 * them cannot be known; the sentence does not pretend to.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { Input } from "@corral/domain/run/RunMachine"
import { Effect } from "effect"
import type { Snapshots } from "../workspace/Snapshots.ts"

export interface RunWorkspace {
  readonly runId: RunId
  readonly mode: RunMode
  /** Real path. */
  readonly root: string
}

const mayChange = (mode: RunMode): boolean => mode !== "read_only" && mode !== "plan"

/** What has to be known before the run's process is there. */
export const begin = (snapshots: Snapshots["Service"], { mode, runId }: RunWorkspace): Effect.Effect<void> =>
  mayChange(mode) ? Effect.void : snapshots.mark(runId)

/** What the machine is told of the folder before the run ends. */
export const review = Effect.fnUntraced(function* (
  snapshots: Snapshots["Service"],
  { mode, root, runId }: RunWorkspace
): Effect.fn.Return<ReadonlyArray<Input>> {
  const diff = yield* snapshots.after(runId, root)
  const found: Array<Input> = []
  if (diff !== undefined && diff.files > 0) found.push({ _tag: "Said", event: draft("run.diff.ready", diff) })
  if (mayChange(mode)) return found
  const files = yield* snapshots.changed(runId, root)
  if (files.length > 0) found.push({ _tag: "Overruled", error: brokenMode(mode, files) })
  return found
})

const brokenMode = (mode: RunMode, files: ReadonlyArray<string>): RunFailure => ({
  code: "permission_denied",
  message: `Files of the workspace changed during a run whose mode is ${mode}.`,
  details: { reason: "workspace_changed", mode, files }
})
