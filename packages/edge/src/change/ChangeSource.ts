/**
 * What a change set compares: the base and the result of a worktree, of a layer, or of a run that wrote directly, as trees of a shadow repository.
 *
 * Does not: have sources of layers. `LayerSources` is where they are registered.
 */
import {
  ChangesUnknown,
  NotFound,
  RunActive,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { ChangeSetId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { Isolation, Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { runsOfOwner } from "../log/Runs.ts"
import { Store } from "../store/Store.ts"
import { ignoreOptions } from "../workspace/CaptureInProgress.ts"
import { attemptFiles } from "../workspace/Git.ts"
import { pathText } from "../workspace/PathText.ts"
import { type ShadowRepository, zeroTerminated } from "../workspace/ShadowRepository.ts"
import { Snapshots, type StateTree } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { findRow } from "../workspace/WorktreeRows.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { changeSetIdOf } from "./ChangeIds.ts"

export type IgnoredFolders = ReadonlyArray<{ readonly folder: string; readonly count: number }>

export interface ChangeSource {
  readonly setId: ChangeSetId
  /** The run that owns the layer or worktree; of `none`, the run. */
  readonly owner: RunId
  readonly isolation: Isolation
  readonly workspace: WorkspaceId
  /** Real path of the workspace: where accepted parts are written. */
  readonly root: string
  /** Runs that worked in it, oldest first. */
  readonly runs: readonly [Run, ...ReadonlyArray<Run>]
  /** Whether the files were written directly: the set can be undone only. */
  readonly direct: boolean
  /** The repository that has the trees and contents of base and result, and receives new ones. */
  readonly shadow: ShadowRepository
  /** State at the start. The row of the set has a later one. */
  readonly base: Effect.Effect<StateTree, ChangesUnknown>
  /** State now. */
  readonly result: Effect.Effect<StateTree, ChangesUnknown>
  readonly ignored: Effect.Effect<IgnoredFolders>
  readonly commits: Effect.Effect<ReadonlyArray<WorktreeCommit>>
  /** Reserves the files until the scope closes: no run is live in them, and none enters. */
  readonly reserve: Effect.Effect<void, RunActive, Scope.Scope>
  /** Gives the folder in which the files are read, also while a run writes them. */
  readonly withFiles: UseFolder
  /** Gives the folder in which the files of the layer are written. Only while they are reserved. */
  readonly withView: UseFolder
}

/** Uses a folder that is there until the effect ends. */
type UseFolder = <A, E>(use: (folder: string) => Effect.Effect<A, E>) => Effect.Effect<A, E | ChangesUnknown>

export type SourceFailure = NotFound | ChangesUnknown | WorkspaceOutsideAllowlist

/** Sources of layers. `undefined`: the run has no layer. */
export const LayerSources = Context.Reference<{
  readonly sourceOf: (run: Run) => Effect.Effect<ChangeSource | undefined, SourceFailure>
}>("corral/edge/LayerSources", { defaultValue: () => ({ sourceOf: () => Effect.undefined }) })

export class ChangeSources extends Context.Service<
  ChangeSources,
  { readonly of: (run: Run) => Effect.Effect<ChangeSource, SourceFailure> }
>()("corral/edge/ChangeSources") {
  static readonly layer = Layer.effect(
    ChangeSources,
    Effect.gen(function* () {
      const layers = yield* LayerSources
      const services: Services = {
        store: yield* Store,
        snapshots: yield* Snapshots,
        workspaces: yield* Workspaces,
        worktrees: yield* Worktrees
      }
      return ChangeSources.of({
        of: Effect.fn("ChangeSource.of")(function* (run: Run) {
          const { path } = yield* services.workspaces.open(run.workspace)
          const layer = yield* layers.sourceOf(run)
          // The folder that the workspace had is no longer allowed.
          if (layer !== undefined && layer.root !== path) return yield* new WorkspaceOutsideAllowlist()
          if (layer !== undefined) return layer
          return run.worktree === undefined
            ? yield* directSource(services, run, path)
            : yield* worktreeSource(services, run.workspace, run.worktree, path)
        })
      })
    })
  )
}

interface Services {
  readonly store: Store["Service"]
  readonly snapshots: Snapshots["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
}

const runActive = new RunActive()

/** Fails while a run of the set is live. */
export const requireEnded = (runs: ReadonlyArray<Run>): Effect.Effect<void, RunActive> =>
  runs.every(({ state }) => isTerminal(state)) ? Effect.void : Effect.fail(runActive)

/** Commits that a set shows. */
const MAX_COMMITS = 100

const worktreeSource = Effect.fnUntraced(function* (
  { snapshots, store, worktrees }: Services,
  workspace: WorkspaceId,
  owner: RunId,
  root: string
): Effect.fn.Return<ChangeSource, SourceFailure> {
  const row = findRow(store, owner)
  const folder = worktrees.pathOf(owner)
  const [first, ...later] = runsOfOwner(store, owner, "$.worktree")
  if (row?.state !== "kept" || first === undefined || !existsSync(folder))
    return yield* new NotFound({ message: "The worktree was removed." })
  const setId = changeSetIdOf(owner)
  const runs = [first, ...later] as const
  const shadow = yield* snapshots.repository(folder)
  return {
    setId,
    owner,
    isolation: "worktree",
    workspace,
    root,
    runs,
    direct: false,
    shadow,
    base: Effect.andThen(
      attemptFiles(() => shadow.open()),
      Effect.map(shadow.run(["rev-parse", "--verify", "-q", `${row.base}^{tree}`]), ({ bytes }) => ({
        tree: bytes.toString("latin1").trim(),
        leftOut: []
      }))
    ).pipe(Effect.catch((failure) => snapshots.unknown(owner, folder, failure))),
    result: snapshots.take(setId, folder),
    ignored: ignoredFolders(shadow, setId, folder),
    commits: worktrees.commits(owner, MAX_COMMITS).pipe(Effect.orElseSucceed(() => [])),
    reserve: Effect.andThen(
      requireEnded(runs),
      Effect.asVoid(Effect.mapError(worktrees.enter(owner), () => runActive))
    ),
    withFiles: (use) => use(folder),
    withView: (use) => use(folder)
  }
})

const directSource = Effect.fnUntraced(function* (
  { snapshots }: Services,
  run: Run,
  root: string
): Effect.fn.Return<ChangeSource, SourceFailure> {
  if (run.changesUnknown !== undefined) return yield* new ChangesUnknown({ details: run.changesUnknown })
  const { id, isolation = "none", workspace } = run
  return {
    setId: changeSetIdOf(id),
    owner: id,
    isolation,
    workspace,
    root,
    runs: [run],
    direct: true,
    shadow: yield* snapshots.repository(root),
    base: snapshots.start(id, root),
    result: isTerminal(run.state) ? snapshots.end(id, root) : snapshots.take(id, root),
    ignored: Effect.succeed([]),
    commits: Effect.succeed([]),
    reserve: requireEnded([run]),
    withFiles: (use) => use(root),
    withView: (use) => use(root)
  }
})

/** Folders with ignored files that are listed, and bytes of names that are read. */
const MAX_FOLDERS = 100
const MAX_NAMES = 33_554_432

/** Counts by top folder. A file at the top counts as a folder. */
export const topFolders = (paths: ReadonlyArray<Buffer>): IgnoredFolders => {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const end = path.indexOf(0x2f)
    const top = pathText(end === -1 ? path : path.subarray(0, end))
    counts.set(top, (counts.get(top) ?? 0) + 1)
  }
  return [...counts]
    .map(([folder, count]) => ({ folder, count }))
    .toSorted((a, b) => b.count - a.count || (a.folder < b.folder ? -1 : 1))
    .slice(0, MAX_FOLDERS)
}

/** Ignored files of a folder whose state was taken. */
const ignoredFolders = (
  shadow: ShadowRepository,
  state: string,
  folder: string
): Effect.Effect<IgnoredFolders> =>
  shadow
    .run([...ignoreOptions(shadow), "ls-files", "-z", "--others", "--ignored", "--exclude-standard"], {
      index: shadow.fileOf(state, "state"),
      workTree: folder,
      maxBytes: MAX_NAMES
    })
    .pipe(
      Effect.map(({ bytes }) => topFolders(zeroTerminated(bytes))),
      Effect.catch(({ message }) =>
        Effect.as(Effect.logWarning("failed to count ignored files", { cause: message }), [])
      )
    )
