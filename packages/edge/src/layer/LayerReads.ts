/** What readers see of a run that may work in a layer: the folder of its diff, the diff, and its files. */
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { Run } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Workspaces } from "../workspace/Workspaces.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"
import type { Snapshots } from "../workspace/Snapshots.ts"
import type { Layers } from "./Layers.ts"

interface DiffFolders {
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
}

/** Real path of the run's folder. Fails if the run has ended, and its changes are unknown. */
export const diffFolder = Effect.fn("LayerReads.diffFolder")(function* (
  { workspaces, worktrees }: DiffFolders,
  run: Run
) {
  if (run.changesUnknown !== undefined) return yield* new ChangesUnknown({ details: run.changesUnknown })
  const workspace = yield* workspaces.open(run.workspace)
  return run.worktree === undefined ? workspace.path : worktrees.pathOf(run.worktree)
})

export interface DiffRequest {
  readonly run: Run
  /** Real path of the run's folder. */
  readonly root: string
  readonly position: string | undefined
  readonly limit: number
}

/** A page of the diff of a run. Of a live run in a layer, against the files of the layer now. */
export const diffOfRun = (
  { layers, snapshots }: { readonly layers: Layers["Service"]; readonly snapshots: Snapshots["Service"] },
  { limit, position, root, run: { id, layer, state } }: DiffRequest
): ReturnType<Snapshots["Service"]["diff"]> =>
  layer === undefined || isTerminal(state)
    ? snapshots.diff(id, root, position, limit)
    : layers.withFiles(layer.owner, (view) => snapshots.diff(id, root, position, limit, view))

/** Uses the folder with the files of a run as the Edge reads them. */
export const withRunFolder = <A, E>(
  layers: Layers["Service"],
  { layer }: Pick<Run, "layer">,
  root: string,
  use: (folder: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | ChangesUnknown> =>
  layer === undefined ? use(root) : layers.withFiles(layer.owner, ({ at, folder }) => use(folder ?? at(root)))
