/**
 * Layers: what runs with `isolation: "overlay"` write instead of the workspace, until a person accepts it. A layer belongs to a chain of runs that
 * continue each other; the first one owns it. It is an overlay over the workspace, or a copy of it, in the Edge's folder.
 *
 * Guarantees: a layer stays until a user removes it, and is never removed under a live run. Its base is taken before the program of a run starts.
 * The person's edits since the last turn are merged into it before each turn. In doubt, the layer stays.
 *
 * Does not: write the workspace, or decide what reaches it.
 */
import {
  ChangesUnknown,
  Conflict,
  NotFound,
  Overloaded,
  RunActive,
  type SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { LayerSummary } from "@corral/domain/edge-api/Worktrees"
import type { LayerReadiness } from "@corral/domain/http/Health"
import type { RunId, TaskGroupId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { Run, RunFailure, RunLayer } from "@corral/domain/run/Run"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { existsSync, realpathSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { resolve } from "node:path"
import type { ChangeSource, SourceFailure } from "../change/ChangeSource.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { runsOfOwner } from "../log/Runs.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import type { SnapshotView } from "../workspace/CaptureInProgress.ts"
import { forgetEdgeRefs } from "../workspace/EdgeRefs.ts"
import { GitFailed, GitIsolation } from "../workspace/Git.ts"
import { isWithin } from "../workspace/PathText.ts"
import type { DiffSummary } from "../workspace/SnapshotComparison.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { notIsolated } from "../workspace/WorktreePlan.ts"
import { logFailure, notResumed } from "../workspace/Worktrees.ts"
import type { LayerFiles } from "./LayerMounts.ts"
import { LayerChecks } from "./LayerMeans.ts"
import { filesInNamespace } from "./LayerMounts.ts"
import { type LayerRepository, layerCommit } from "./LayerRepository.ts"
import {
  findLayer,
  forgetLayer,
  layerFolder,
  layerOf,
  layerPlaces,
  type LayerRow,
  layersInUse,
  pageOfLayers,
  putLayer,
  unsettledLayers
} from "./LayerRows.ts"
import { hasFirst, sourceOfLayer } from "./LayerSource.ts"
import { unknownChanges } from "./LayerStates.ts"
import { openThrownAway, removeThrownAway, type ThrownAwayFiles } from "./ThrownAway.ts"
import { type LayerTools, LayerWork } from "./LayerWork.ts"

/** A run that wants a layer. */
export interface LayerRequest {
  readonly id: RunId
  readonly workspace: WorkspaceId
  /** Real path of the workspace. */
  readonly root: string
  /** Whether the operating system confines the run, and hides the workspace's folder from it. */
  readonly enforced: boolean
  /** The layer begins with the base of this group. */
  readonly group?: TaskGroupId | undefined
}

export interface PlannedLayer {
  readonly layer: RunLayer
  /** Real path of the folder in which the run works, as it sees it. */
  readonly path: string
  /** Row that must be durable with the run. */
  readonly row: Write
}

export class Layers extends Context.Service<
  Layers,
  {
    /** What this machine has, by trying it once. */
    readonly readiness: Effect.Effect<Omit<LayerReadiness, "enforced">>
    /** Plans a layer; creates nothing of it. */
    readonly plan: (request: LayerRequest) => Effect.Effect<PlannedLayer, SchemaValidationFailed | Overloaded>
    /**
     * Reserves a layer for a run that resumes in it. Until the scope closes, no other run enters it, and no one removes it. `root`: real path of the
     * workspace now.
     */
    readonly enter: (
      layer: RunLayer,
      id: RunId,
      root: string
    ) => Effect.Effect<PlannedLayer, SchemaValidationFailed | Overloaded, Scope.Scope>
    /** Makes the layer of a run, or merges the person's edits into it. `report`: a sentence for the run's timeline. */
    readonly open: (
      run: Pick<Run, "id" | "layer">,
      mark: Readonly<Record<string, string>>,
      report: (text: string) => void
    ) => Effect.Effect<void, RunFailure>
    /** Files of an open layer, for the run's confinement. Readable until the scope closes. Fails with a phrase. */
    readonly files: (owner: RunId) => Effect.Effect<LayerFiles, string, Scope.Scope>
    /**
     * Files above those of an ended run, for a command whose writes are thrown away: of a layer by its owner, or of a worktree by its path. They end
     * with the scope. Fails with a phrase.
     */
    readonly thrownAway: (
      below: { readonly owner: RunId } | { readonly worktree: string }
    ) => Effect.Effect<ThrownAwayFiles, string, Scope.Scope>
    /** Stores the result of a turn, when no process of the run is alive, and gives the run its diff. */
    readonly settle: (run: RunId, owner: RunId) => Effect.Effect<DiffSummary, ChangesUnknown>
    /** Uses the files as a live or an ended run has them. */
    readonly withFiles: <A, E>(
      owner: RunId,
      use: (view: SnapshotView) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | ChangesUnknown>
    /** Uses the folder in which the files are written, when no process of a run is alive. */
    readonly written: <A, E>(
      owner: RunId,
      use: (top: string) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | GitFailed>
    /** Gives the run's repository the refs that the workspace has now. */
    readonly refresh: (owner: RunId) => Effect.Effect<void>
    /** Hands over what the run has committed. Succeeds with what a person should know, if it fails. */
    readonly handOver: (owner: RunId) => Effect.Effect<string | undefined>
    /** Puts back what git obeys in the run's repository. */
    readonly close: (owner: RunId) => Effect.Effect<void>
    /** What the changes of a run in a layer are compared with; `undefined` for other runs. */
    readonly sourceOf: (run: Pick<Run, "layer">) => Effect.Effect<ChangeSource | undefined, SourceFailure>
    /** Removes an incomplete layer of a run that has ended. */
    readonly abandon: (owner: RunId) => Effect.Effect<void>
    /** Removes layers that an earlier Edge was making or removing. `adopted` runs go on making theirs. */
    readonly recover: (adopted: ReadonlySet<string>) => Effect.Effect<void>
    /** Whether a run owns a layer that was not removed. */
    readonly has: (owner: RunId) => boolean
    /** Up to `limit` layers before `before`, newest first. Removed ones are left out. */
    readonly list: (before: string | undefined, limit: number) => ReadonlyArray<LayerSummary>
    /** Fails with a conflict if a run is using it, or, without `force`, if something in it is undecided. */
    readonly remove: (owner: RunId, force: boolean) => Effect.Effect<void, NotFound | Conflict>
    /** Deletes the row of a removed layer. */
    readonly forget: (owner: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/Layers") {
  static readonly layer = Layer.effect(
    Layers,
    Effect.gen(function* () {
      const config = yield* EdgeConfig
      makeFolder(config.home)
      const home = realpathSync(config.home)
      const tools: LayerTools = {
        home,
        store: yield* Store,
        snapshots: yield* Snapshots,
        isolation: yield* GitIsolation,
        program: findProgram("git", config.environment["PATH"]),
        filesInNamespace: filesInNamespace(config.environment["PATH"]),
        checks: yield* LayerChecks.make(home)
      }
      return new EdgeLayers(tools, yield* Clock.Clock)
    })
  )
}

type Service = Layers["Service"]

/** Below this, a disk gets no further layer. */
const MIN_FREE_BYTES = 268_435_456
/** The person hears of a start that takes longer. */
const NOTICE_AFTER = "5 seconds"
const NOTICE =
  "The start waits for a snapshot of the workspace, against which the changes of this run are shown. Cancel the run to stop waiting."

const EDGE_PROGRAMS =
  "The workspace has git, bubblewrap or a part of the system that the Edge runs: a run could replace it in its layer."
const MOVED =
  "The workspace is at another path than when that run worked in its layer. Start a new run, or move the workspace back."
const REMOVED = "The layer was removed."
const runActive = new RunActive()
const inUse = new Conflict({ message: "A run is using the layer." })
const unknownFiles = ({ message: detail }: GitFailed) =>
  new ChangesUnknown({ details: { reason: "failed", detail } })
const noStart = new ChangesUnknown({ details: { reason: "no_start" } })

const notMade = ({ message }: { readonly message: string }): RunFailure => ({
  code: "internal",
  message: `The layer of the run could not be made: ${message}.`,
  details: { reason: "layer_failed" }
})

class EdgeLayers implements Service {
  private readonly tools: LayerTools
  private readonly store: Store["Service"]
  private readonly clock: Clock.Clock
  /** Owners whose layer is being entered or removed. */
  private readonly claimed = new Set<RunId>()

  constructor(tools: LayerTools, clock: Clock.Clock) {
    this.tools = tools
    this.store = tools.store
    this.clock = clock
  }

  get readiness(): Effect.Effect<Omit<LayerReadiness, "enforced">> {
    return this.tools.checks.readiness
  }

  readonly plan = Effect.fn("Layers.plan")(
    { self: this },
    function* ({ enforced, group, id, root, workspace }: LayerRequest) {
      const { checks, home, program } = this.tools
      yield* this.requireSpace
      if (this.hasEdgePrograms(root)) return yield* notIsolated(EDGE_PROGRAMS)
      if (isWithin(root, resolve(home)))
        return yield* notIsolated("The Edge's own folder lies in this workspace: a layer would, too.")
      if (program === undefined)
        return yield* notIsolated("A layer needs git, which is not installed where this Edge runs.")
      const means = yield* checks.meansFor(root, enforced)
      // Of a copy that is not enforced, the repository is a copy, too.
      const commit = enforced ? yield* layerCommit(home, root, program) : undefined
      return this.planned({
        owner: id,
        workspace,
        root,
        means,
        enforced,
        state: "making",
        runs: [id],
        incomplete: [],
        ...(commit === undefined ? {} : { commit }),
        ...(group === undefined ? {} : { group }),
        createdAt: new Date(this.clock.currentTimeMillisUnsafe()).toISOString()
      })
    }
  )

  readonly enter = Effect.fn("Layers.enter")(
    { self: this },
    function* ({ owner }: RunLayer, id: RunId, root: string) {
      yield* this.requireSpace
      const busy = notResumed("Another run is using the layer of that run.")
      yield* this.claim(owner, busy)
      const work = this.find(owner)
      if (work?.row.state !== "kept" || !existsSync(work.folder))
        return yield* notResumed("The layer of that run was removed.")
      if (layersInUse(this.store).has(owner)) return yield* busy
      if (work.row.root !== root) return yield* notResumed(MOVED)
      if (this.hasEdgePrograms(work.row.root)) return yield* notResumed(EDGE_PROGRAMS)
      return this.planned({ ...work.row, runs: [...work.row.runs, id] })
    }
  )

  readonly open = Effect.fn("Layers.open")(
    { self: this },
    function* (
      { id, layer }: Pick<Run, "id" | "layer">,
      mark: Readonly<Record<string, string>>,
      report: (text: string) => void
    ) {
      const work = layer && this.find(layer.owner)
      if (work === undefined) return
      const { incomplete, owner, root, state } = work.row
      const slow = Effect.delay(
        Effect.sync(() => report(NOTICE)),
        NOTICE_AFTER
      )
      const opening = Effect.gen({ self: this }, function* () {
        const states = yield* work.states
        yield* state === "making" ? work.make(states, mark) : work.continue(states, mark)
        const first = { index: states.file("result"), leftOut: incomplete }
        yield* this.tools.snapshots.startFrom(id, root, first)
      })
      yield* Effect.raceFirst(opening, Effect.andThen(slow, Effect.never)).pipe(
        Effect.tapError(logFailure("failed to open layer", owner)),
        Effect.mapError(notMade)
      )
    }
  )

  readonly files = (owner: RunId): Effect.Effect<LayerFiles, string, Scope.Scope> =>
    Effect.suspend(() => this.find(owner)?.files ?? Effect.fail("its layer is missing"))

  readonly thrownAway: Service["thrownAway"] = (below) =>
    Effect.suspend(() => {
      if ("worktree" in below) {
        const { worktree: root } = below
        return openThrownAway(this.tools, { root, layer: undefined, isOverlay: false, repository: undefined })
      }
      const work = this.find(below.owner)
      return work?.row.state === "kept" ? work.thrownAway : Effect.fail("its layer was removed")
    })

  readonly settle = Effect.fn("Layers.settle")({ self: this }, function* (run: RunId, owner: RunId) {
    const work = this.find(owner)
    if (work?.row.state !== "kept") return yield* noStart
    const state = yield* Effect.mapError(work.capture(), unknownChanges)
    return yield* this.tools.snapshots.endWith(run, work.row.root, state)
  })

  readonly withFiles = <A, E>(
    owner: RunId,
    use: (view: SnapshotView) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ChangesUnknown> =>
    Effect.suspend((): Effect.Effect<A, E | ChangesUnknown> => {
      const work = this.find(owner)
      return work?.row.state === "kept"
        ? Effect.scoped(Effect.flatMap(Effect.mapError(work.view("read"), unknownFiles), use))
        : Effect.fail(noStart)
    })

  readonly written = <A, E>(
    owner: RunId,
    use: (top: string) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | GitFailed> =>
    Effect.suspend((): Effect.Effect<A, E | GitFailed> => {
      const work = this.find(owner)
      return work?.row.state === "kept" ? work.written(use) : Effect.fail(new GitFailed({ message: REMOVED }))
    })

  readonly refresh = (owner: RunId): Effect.Effect<void> =>
    this.withRepository(owner, (repository) => repository.refreshed).pipe(
      Effect.catch(logFailure("failed to copy refs of the workspace", owner))
    )

  readonly close = (owner: RunId): Effect.Effect<void> =>
    this.withRepository(owner, (repository) => repository.settled).pipe(
      Effect.catch(logFailure("failed to restore the repository of a run", owner))
    )

  readonly handOver = (owner: RunId): Effect.Effect<string | undefined> =>
    this.withRepository(owner, (repository) => repository.handedOver).pipe(
      Effect.as(undefined),
      Effect.tapError(logFailure("failed to hand over commits", owner)),
      Effect.orElseSucceed(
        () => "The commits of this run did not reach the workspace's repository. They are still in its layer."
      )
    )

  readonly sourceOf = Effect.fn("Layers.sourceOf")(
    { self: this },
    function* ({ layer }: Pick<Run, "layer">): Effect.fn.Return<ChangeSource | undefined, SourceFailure> {
      const work = layer && this.find(layer.owner)
      if (work === undefined) return undefined
      const { owner, state } = work.row
      const runs = runsOfOwner(this.store, owner, "$.layer.owner")
      if (state !== "kept" || !hasFirst(runs)) return yield* new NotFound({ message: REMOVED })
      const commits = this.withRepository(owner, (repository) => repository.commits).pipe(
        Effect.map((found: ReadonlyArray<WorktreeCommit> | undefined) => found ?? []),
        Effect.tapError(logFailure("failed to list commits", owner)),
        Effect.orElseSucceed((): ReadonlyArray<WorktreeCommit> => [])
      )
      // A run may have entered after its runs were read.
      const requireIdle = Effect.suspend(() =>
        layersInUse(this.store).has(owner) ? Effect.fail(runActive) : Effect.void
      )
      const reserve = Effect.andThen(this.claim(owner, runActive), requireIdle)
      const states = yield* Effect.mapError(work.states, unknownChanges)
      return sourceOfLayer({ work, states, runs, commits, reserve })
    }
  )

  readonly abandon = (owner: RunId): Effect.Effect<void> =>
    Effect.suspend(() => {
      const work = this.find(owner)
      return work?.row.state === "making" ? work.removed : Effect.void
    }).pipe(Effect.catch(logFailure("failed to remove incomplete layer", owner)))

  readonly recover = (adopted: ReadonlySet<string>): Effect.Effect<void> =>
    Effect.suspend(() =>
      Effect.forEach(
        unsettledLayers(this.store).filter(({ owner, state }) => state === "removing" || !adopted.has(owner)),
        (row) => {
          const { removed } = new LayerWork(this.tools, row)
          return removed.pipe(Effect.catch(logFailure("failed to remove layer", row.owner)))
        },
        { discard: true }
      )
    ).pipe(Effect.andThen(removeThrownAway(this.tools.home)))

  readonly has = (owner: RunId): boolean => (this.find(owner)?.row.state ?? "removed") !== "removed"

  readonly list = (before: string | undefined, limit: number): ReadonlyArray<LayerSummary> => {
    const live = layersInUse(this.store)
    return pageOfLayers(this.store, before, limit).map((row) => {
      const { createdAt, enforced, means, owner: runId, workspace } = row
      const { folder } = new LayerWork(this.tools, row)
      const state = live.has(runId) ? "active" : existsSync(folder) ? "kept" : "removed"
      return { runId, workspace, state, means, enforced, createdAt }
    })
  }

  readonly remove = Effect.fn("Layers.remove")(
    { self: this },
    function* (owner: RunId, force: boolean) {
      yield* this.claim(owner, inUse)
      const work = this.find(owner)
      if (work === undefined) return yield* new NotFound({ message: "This run has no layer." })
      const { row } = work
      if (row.state === "removed") return
      if (layersInUse(this.store).has(owner)) return yield* inUse
      // If the comparison fails, the layer counts as having changes.
      const isChanged = work.isChanged.pipe(
        Effect.tapError(logFailure("failed to examine layer", owner)),
        Effect.orElseSucceed(() => true)
      )
      if (!force && row.state === "kept" && existsSync(work.folder) && (yield* isChanged))
        return yield* new Conflict({
          message: "The layer has changes that were neither accepted nor rejected. Nothing was removed.",
          details: { undecided: true }
        })
      const removing: LayerRow = { ...row, state: "removing" }
      const { removed } = new LayerWork(this.tools, removing)
      yield* Effect.uninterruptible(Effect.andThen(this.store.commit([putLayer(removing)]), removed)).pipe(
        Effect.tapError(logFailure("failed to remove layer", owner)),
        Effect.mapError(() => new Conflict({ message: "The layer could not be removed." }))
      )
    },
    Effect.scoped
  )

  readonly forget = (owner: RunId): Effect.Effect<void, StoreFailed> =>
    Effect.andThen(
      this.store.commit([forgetLayer(owner)]),
      Effect.sync(() => {
        if (this.find(owner) === undefined) forgetEdgeRefs(layerFolder(this.tools.home, owner))
      })
    )

  private find(owner: RunId): LayerWork | undefined {
    const row = findLayer(this.store, owner)
    return row && new LayerWork(this.tools, row)
  }

  private planned(row: LayerRow): PlannedLayer {
    const { folder } = new LayerWork(this.tools, row)
    const path = row.enforced ? row.root : layerPlaces(folder).copy
    return { layer: layerOf(row), path, row: putLayer(row) }
  }

  private hasEdgePrograms(root: string): boolean {
    return this.tools.filesInNamespace.some((file) => isWithin(root, file))
  }

  private get requireSpace(): Effect.Effect<void, Overloaded> {
    return Effect.flatMap(
      Effect.promise(() => statfs(this.tools.home)),
      ({ bavail, bsize }) =>
        bavail * bsize < MIN_FREE_BYTES
          ? Effect.fail(
              new Overloaded({
                message:
                  "The disk with the Edge's files has too little free space for a layer. Free 256 MiB.",
                details: { reason: "disk_full" }
              })
            )
          : Effect.void
    )
  }

  /** Claims a layer until the scope closes; fails with `refusal` while another caller has it. */
  private claim<E>(owner: RunId, refusal: E): Effect.Effect<void, E, Scope.Scope> {
    const { claimed } = this
    const acquire = Effect.suspend(() => {
      if (claimed.has(owner)) return Effect.fail(refusal)
      return Effect.sync(() => void claimed.add(owner))
    })
    return Effect.acquireRelease(acquire, () => Effect.sync(() => void claimed.delete(owner)))
  }

  private withRepository<A, E>(
    owner: RunId,
    use: (repository: LayerRepository) => Effect.Effect<A, E>
  ): Effect.Effect<A | undefined, E> {
    return Effect.suspend(() => {
      const work = this.find(owner)
      const repository = work?.row.state === "kept" ? work.repository() : undefined
      return repository === undefined ? Effect.undefined : use(repository)
    })
  }
}
