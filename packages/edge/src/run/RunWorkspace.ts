/**
 * The folder of a run: its snapshot before the start, and its review and its commits when no process of the run is alive.
 *
 * Guarantees: a run in a mode without changes fails if files changed meanwhile, regardless of what its runtime reports. Unknown changes are reported as unknown.
 *
 * Does not: tell who changed the files.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import { draft, type DraftOf } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { Effect } from "effect"
import type { ProtectedWatch } from "../confinement/ProtectedWatch.ts"
import type { DiffSummary } from "../workspace/SnapshotComparison.ts"
import type { Snapshots } from "../workspace/Snapshots.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"
import { handOverNotice } from "./TurnCommits.ts"

export interface RunWorkspace {
  readonly runId: RunId
  readonly mode: RunMode
  /** Real path. */
  readonly root: string
  /** The run that owns its worktree. */
  readonly worktree?: RunId | undefined
}

const mayChange = (mode: RunMode): boolean => mode !== "read_only" && mode !== "plan"

/** Records the start, before the run's process exists. */
export const markRunStart = (
  snapshots: Snapshots["Service"],
  { mode, runId }: RunWorkspace
): Effect.Effect<void> => (mayChange(mode) ? Effect.void : snapshots.mark(runId))

/** Services for the folder of a run. */
export interface ReviewServices {
  readonly snapshots: Snapshots["Service"]
  readonly worktrees: Worktrees["Service"]
}

/** Inputs of the run machine about the folder, before the run ends. */
export const reviewRunChanges = Effect.fnUntraced(function* (
  { snapshots, worktrees }: ReviewServices,
  { mode, root, runId, worktree }: RunWorkspace,
  protection?: Pick<ProtectedWatch, "review">
): Effect.fn.Return<ReadonlyArray<RunMachineInput>> {
  const changes = yield* Effect.match(snapshots.after(runId, root), {
    onSuccess: changesFound,
    onFailure: ({ details }): ReadonlyArray<ChangesEvent> => [
      draft("run.changes.unknown", details ?? { reason: "failed" })
    ]
  })
  const found: Array<RunMachineInput> = protection === undefined ? [] : [...(yield* protection.review)]
  for (const event of changes) found.push({ _tag: "EventEmitted", event })
  if (worktree !== undefined) {
    yield* worktrees.close(worktree)
    const problem = yield* worktrees.handOver(worktree)
    if (problem !== undefined) found.push({ _tag: "EventEmitted", event: handOverNotice(problem) })
  }
  if (mayChange(mode)) return found
  const files = yield* snapshots.changed(runId, root)
  if (files.length > 0) found.push({ _tag: "FailureImposed", error: brokenMode(mode, files) })
  return found
})

type ChangesEvent = DraftOf<"run.diff.ready" | "run.changes.unknown">

/** A run that changed nothing has no event. */
const changesFound = ({ additions, deletions, files, leftOut }: DiffSummary): ReadonlyArray<ChangesEvent> =>
  files === 0 && leftOut === undefined
    ? []
    : [
        draft("run.diff.ready", {
          files,
          additions,
          deletions,
          ...(leftOut === undefined ? {} : { leftOut })
        })
      ]

const brokenMode = (mode: RunMode, files: ReadonlyArray<string>): RunFailure => ({
  code: "permission_denied",
  message: `Files of the workspace changed during a run whose mode is ${mode}.`,
  details: { reason: "workspace_changed", mode, files }
})
