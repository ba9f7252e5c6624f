/**
 * The folder of a run: its snapshot before the start, and its review when no process of the run is alive.
 *
 * Guarantees: a run in a mode without changes fails if files changed meanwhile, regardless of what its runtime reports.
 *
 * Does not: tell who changed the files.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { Effect } from "effect"
import type { ProtectedWatch } from "../confinement/ProtectedWatch.ts"
import type { Snapshots } from "../workspace/Snapshots.ts"

export interface RunWorkspace {
  readonly runId: RunId
  readonly mode: RunMode
  /** Real path. */
  readonly root: string
}

const mayChange = (mode: RunMode): boolean => mode !== "read_only" && mode !== "plan"

/** Records the start, before the run's process exists. */
export const markRunStart = (
  snapshots: Snapshots["Service"],
  { mode, runId }: RunWorkspace
): Effect.Effect<void> => (mayChange(mode) ? Effect.void : snapshots.mark(runId))

/** Inputs of the run machine about the folder, before the run ends. */
export const reviewRunChanges = Effect.fnUntraced(function* (
  snapshots: Snapshots["Service"],
  { mode, root, runId }: RunWorkspace,
  protection?: Pick<ProtectedWatch, "review">
): Effect.fn.Return<ReadonlyArray<RunMachineInput>> {
  const diff = yield* snapshots.after(runId, root)
  const found: Array<RunMachineInput> = protection === undefined ? [] : [...(yield* protection.review)]
  if (diff !== undefined && diff.files > 0)
    found.push({ _tag: "EventEmitted", event: draft("run.diff.ready", diff) })
  if (mayChange(mode)) return found
  const files = yield* snapshots.changed(runId, root)
  if (files.length > 0) found.push({ _tag: "FailureImposed", error: brokenMode(mode, files) })
  return found
})

const brokenMode = (mode: RunMode, files: ReadonlyArray<string>): RunFailure => ({
  code: "permission_denied",
  message: `Files of the workspace changed during a run whose mode is ${mode}.`,
  details: { reason: "workspace_changed", mode, files }
})
