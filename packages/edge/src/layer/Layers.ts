/**
 * Layers: what runs with `isolation: "overlay"` write instead of the workspace, until a person accepts it. A layer belongs to a chain of runs that
 * continue each other; the first one owns it. It is an overlay over the workspace, or a copy of it, in the Edge's folder.
 *
 * Guarantees: a layer stays until a user removes it, and is never removed under a live run. Its base is taken before the program of a run starts.
 * The person's edits since the last turn are merged into it before each turn. In doubt, the layer stays.
 *
 * Does not: write the workspace, or decide what reaches it.
 */
import { ChangesUnknown, Conflict, NotFound, Overloaded, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { LayerReadiness } from "@corral/domain/http/Health"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { LayerMeans, Run, RunFailure, RunLayer } from "@corral/domain/run/Run"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { chmodSync, existsSync, realpathSync, statSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { ChangeSource } from "../change/ChangeSource.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { removeFolder } from "../process/TemporaryFolder.ts"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import type { SnapshotView } from "../workspace/CaptureInProgress.ts"
import { forgetEdgeRefs } from "../workspace/EdgeRefs.ts"
import { GitFailed, attemptFiles } from "../workspace/Git.ts"
import { GitIsolation } from "../workspace/GitIsolation.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import type { DiffSummary } from "../workspace/SnapshotComparison.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { copyTree } from "./LayerCopy.ts"
import { LayerChecks } from "./LayerMeans.ts"
import { type LayerMount, mounted, mountLayer } from "./LayerMounts.ts"
import { LayerRepository, layerCommit } from "./LayerRepository.ts"
import {
  dropLayer,
  findLayer,
  forgetLayer,
  layerFolder,
  layerOf,
  type LayerChange,
  layerPlaces,
  type LayerRow,
  layersInUse,
  pageOfLayers,
  patchLayer,
  putLayer,
  unsettledLayers
} from "./LayerRows.ts"
import { sourceOfLayer } from "./LayerSource.ts"
import { LayerStates, unknownChanges, viewNameOf } from "./LayerStates.ts"
import type { LayerFiles } from "./LayerFiles.ts"

/** A run that wants a layer. */
export interface LayerRequest {
  readonly id: RunId
  readonly workspace: WorkspaceId
  /** Real path of the workspace. */
  readonly root: string
  /** Whether the operating system confines the run, and hides the workspace's folder from it. */
  readonly enforced: boolean
}

export interface PlannedLayer {
  readonly layer: RunLayer
  /** Real path of the folder in which the run works, as it sees it. */
  readonly path: string
  /** Row that must be durable with the run. */
  readonly row: Write
}

/** A layer in a list. */
export interface ListedLayer {
  readonly runId: RunId
  readonly workspace: WorkspaceId
  readonly state: "active" | "kept" | "removed"
  readonly means: LayerMeans
  readonly enforced: boolean
  readonly createdAt: string
}

export class Layers extends Context.Service<
  Layers,
  {
    /** What this machine has, by trying it once. */
    readonly readiness: Effect.Effect<Omit<LayerReadiness, "enforced">>
    /** Plans a layer; creates nothing of it. */
    readonly plan: (request: LayerRequest) => Effect.Effect<PlannedLayer, SchemaValidationFailed | Overloaded>
    /** Reserves a layer for a run that resumes in it. Until the scope closes, no other run enters it, and no one removes it. */
    readonly enter: (
      layer: RunLayer,
      id: RunId
    ) => Effect.Effect<PlannedLayer, SchemaValidationFailed | Overloaded, Scope.Scope>
    /** Makes the layer of a run, or merges the person's edits into it. `report`: a sentence for the run's timeline. */
    readonly open: (
      run: Pick<Run, "id" | "layer">,
      mark: Readonly<Record<string, string>>,
      report: (text: string) => void
    ) => Effect.Effect<void, RunFailure>
    /** Files of an open layer, for the run's confinement. Readable until the scope closes. Fails with a phrase. */
    readonly files: (owner: RunId) => Effect.Effect<LayerFiles, string, Scope.Scope>
    /** Stores the result of a turn, when no process of the run is alive, and gives the run its diff. */
    readonly settle: (run: RunId, owner: RunId) => Effect.Effect<DiffSummary, ChangesUnknown>
    /** Uses the files as a live or an ended run has them. */
    readonly withFiles: <A, E>(
      owner: RunId,
      use: (view: SnapshotView) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | ChangesUnknown>
    /** Gives the run's repository the refs that the workspace has now. */
    readonly refresh: (owner: RunId) => Effect.Effect<void>
    /** Hands over what the run has committed. Succeeds with what a person should know, if it fails. */
    readonly handOver: (owner: RunId) => Effect.Effect<string | undefined>
    /** Puts back what git obeys in the run's repository. */
    readonly close: (owner: RunId) => Effect.Effect<void>
    /** What the changes of a run are compared with. */
    readonly sourceOf: (run: Pick<Run, "id" | "layer">) => Effect.Effect<ChangeSource, ChangesUnknown>
    /** Removes an incomplete layer of a run that has ended. */
    readonly abandon: (owner: RunId) => Effect.Effect<void>
    /** Removes layers that an earlier Edge was making or removing. `adopted` runs go on making theirs. */
    readonly recover: (adopted: ReadonlySet<string>) => Effect.Effect<void>
    /** Up to `limit` layers before `before`, newest first. Removed ones are left out. */
    readonly list: (before: string | undefined, limit: number) => ReadonlyArray<ListedLayer>
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
      return new EdgeLayers(
        home,
        yield* Store,
        yield* Clock.Clock,
        yield* Snapshots,
        yield* GitIsolation,
        findProgram("git", config.environment["PATH"]),
        yield* LayerChecks.make(home)
      )
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

const refused = (path: string, message: string) =>
  new SchemaValidationFailed({ details: { issues: [{ path, message }] } })

const inUse = new Conflict({ message: "A run is using the layer." })
const unknownFiles = (detail: string) =>
  new ChangesUnknown({ details: { reason: "failed", detail } })
const noStart = new ChangesUnknown({ details: { reason: "no_start" } })

const notMade = (cause: string): RunFailure => ({
  code: "internal",
  message: `The layer of the run could not be made: ${cause}.`,
  details: { reason: "layer_failed" }
})

class EdgeLayers implements Service {
  private readonly home: string
  private readonly store: Store["Service"]
  private readonly clock: Clock.Clock
  private readonly snapshots: Snapshots["Service"]
  private readonly isolation: GitIsolation
  private readonly program: string | undefined
  private readonly checks: LayerChecks
  /** Owners whose layer is being entered or removed. */
  private readonly claimed = new Set<RunId>()

  constructor(
    home: string,
    store: Store["Service"],
    clock: Clock.Clock,
    snapshots: Snapshots["Service"],
    isolation: GitIsolation,
    program: string | undefined,
    checks: LayerChecks
  ) {
    this.home = home
    this.store = store
    this.clock = clock
    this.snapshots = snapshots
    this.isolation = isolation
    this.program = program
    this.checks = checks
  }

  get readiness(): Effect.Effect<Omit<LayerReadiness, "enforced">> {
    return this.checks.readiness
  }

  readonly plan = Effect.fn("Layers.plan")(
    { self: this },
    function* ({ enforced, id, root, workspace }: LayerRequest) {
      yield* this.requireSpace
      if (isWithin(root, resolve(this.home)))
        return yield* refused("isolation", "The Edge's own folder lies in this workspace: a layer would, too.")
      if (this.program === undefined)
        return yield* refused("isolation", "A layer needs git, which is not installed where this Edge runs.")
      const means = yield* this.checks.meansFor(root, enforced)
      const commit = yield* layerCommit(this.home, root, this.program)
      const row: LayerRow = {
        owner: id,
        workspace,
        root,
        means,
        enforced,
        state: "making",
        runs: [id],
        conflicts: [],
        incomplete: [],
        ...(commit === undefined ? {} : { commit }),
        createdAt: new Date(this.clock.currentTimeMillisUnsafe()).toISOString()
      }
      return this.planned(row)
    }
  )

  readonly enter = Effect.fn("Layers.enter")({ self: this }, function* (layer: RunLayer, id: RunId) {
    const { owner } = layer
    yield* this.requireSpace
    const busy = refused("resume", "Another run is using the layer of that run.")
    yield* this.claim(owner, busy)
    const row = findLayer(this.store, owner)
    if (row === undefined || row.state !== "kept" || !existsSync(this.folderOf(owner)))
      return yield* refused("resume", "The layer of that run was removed.")
    if (layersInUse(this.store).has(owner)) return yield* busy
    return this.planned({ ...row, runs: [...row.runs, id] })
  })

  readonly open = Effect.fn("Layers.open")(
    { self: this },
    function* (
      { id, layer }: Pick<Run, "id" | "layer">,
      mark: Readonly<Record<string, string>>,
      report: (text: string) => void
    ) {
      const row = layer && findLayer(this.store, layer.owner)
      if (row === undefined) return
      const slow = Effect.delay(
        Effect.sync(() => report(NOTICE)),
        NOTICE_AFTER
      )
      const states = yield* Effect.mapError(this.statesOf(row), ({ message }) => notMade(message))
      const opened = row.state === "making" ? this.make(row, states, mark) : this.continueIn(row, states, mark)
      yield* Effect.raceFirst(opened, Effect.andThen(slow, Effect.never)).pipe(
        Effect.andThen(
          this.snapshots.startFrom(id, row.root, { index: states.file("result"), leftOut: row.incomplete })
        ),
        Effect.tapError((cause) => logFailure("failed to open layer", row.owner)(cause)),
        Effect.mapError(({ message }) => notMade(message))
      )
    }
  )

  readonly files = Effect.fn("Layers.files")({ self: this }, function* (owner: RunId) {
    const row = findLayer(this.store, owner)
    if (row === undefined) return yield* Effect.fail("its layer is missing")
    const { root, runs } = row
    const folder = this.folderOf(owner)
    const repository = this.repositoryOf(row)?.files
    const { copy } = layerPlaces(folder)
    if (row.means !== "overlayfs") return { look: copy, source: copy, repository, around: undefined }
    const { programs } = this.checks
    if (programs === undefined) return yield* Effect.fail("this machine can no longer mount it")
    const mount: LayerMount = { kind: "write", folder, root }
    const around: LayerFiles["around"] = (command) => mounted(programs, mount, command)
    // Nothing is in a new layer.
    if (runs.length === 1) return { look: root, source: root, repository, around }
    const view = yield* mountLayer(programs, { ...mount, kind: "read" })
    return { look: view.at(root), source: root, repository, around }
  })

  readonly settle = Effect.fn("Layers.settle")({ self: this }, function* (run: RunId, owner: RunId) {
    const row = findLayer(this.store, owner)
    if (row === undefined || row.state !== "kept") return yield* noStart
    const state = yield* Effect.mapError(this.capture(row), unknownChanges)
    return yield* this.snapshots.endWith(run, row.root, state)
  })

  readonly withFiles = <A, E>(
    owner: RunId,
    use: (view: SnapshotView) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ChangesUnknown> =>
    Effect.suspend((): Effect.Effect<A, E | ChangesUnknown> => {
      const row = findLayer(this.store, owner)
      if (row === undefined || row.state === "removed") return Effect.fail(noStart)
      return Effect.scoped(
        Effect.flatMap(Effect.mapError(this.view(row, "read"), ({ message }) => unknownFiles(message)), use)
      )
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
    function* ({ layer }: Pick<Run, "id" | "layer">) {
      const row = layer && findLayer(this.store, layer.owner)
      if (row === undefined || row.state !== "kept") return yield* noStart
      const states = yield* Effect.mapError(this.statesOf(row), unknownChanges)
      const isLive = () => layersInUse(this.store).has(row.owner)
      // A crash may have prevented it.
      const isDue = row.captured !== row.runs.at(-1) && !isLive()
      const capture = Effect.mapError(this.capture(row), unknownChanges)
      return sourceOfLayer({
        row,
        states,
        shadow: states.shadow,
        settled: isDue ? Effect.asVoid(capture) : Effect.void,
        capture: Effect.asVoid(capture),
        commits: Effect.map(
          this.withRepository(row.owner, (repository) => repository.commits),
          (found: ReadonlyArray<WorktreeCommit> | undefined) => found ?? []
        ).pipe(
          Effect.tapError(logFailure("failed to list commits", row.owner)),
          Effect.orElseSucceed((): ReadonlyArray<WorktreeCommit> => [])
        ),
        withTop: (use) =>
          Effect.scoped(
            Effect.flatMap(
              Effect.mapError(this.view(row, "write"), ({ message }) => unknownFiles(message)),
              (view) => use(this.topOf(row, view))
            )
          )
      })
    }
  )

  readonly abandon = (owner: RunId): Effect.Effect<void> =>
    Effect.suspend(() => {
      const row = findLayer(this.store, owner)
      return row?.state === "making" ? this.removeLayer(row) : Effect.void
    }).pipe(Effect.catch(logFailure("failed to remove incomplete layer", owner)))

  readonly recover = (adopted: ReadonlySet<string>): Effect.Effect<void> =>
    Effect.suspend(() =>
      Effect.forEach(
        unsettledLayers(this.store).filter(({ owner, state }) => state === "removing" || !adopted.has(owner)),
        (row) => Effect.catch(this.removeLayer(row), logFailure("failed to remove layer", row.owner)),
        { discard: true }
      )
    )

  readonly list = (before: string | undefined, limit: number): ReadonlyArray<ListedLayer> => {
    const live = layersInUse(this.store)
    return pageOfLayers(this.store, before, limit).map(({ createdAt, enforced, means, owner, workspace }) => ({
      runId: owner,
      workspace,
      state: live.has(owner) ? "active" : existsSync(this.folderOf(owner)) ? "kept" : "removed",
      means,
      enforced,
      createdAt
    }))
  }

  readonly remove = Effect.fn("Layers.remove")(
    { self: this },
    function* (owner: RunId, force: boolean) {
      yield* this.claim(owner, inUse)
      const row = findLayer(this.store, owner)
      if (row === undefined) return yield* new NotFound({ message: "This run has no layer." })
      if (row.state === "removed") return
      if (layersInUse(this.store).has(owner)) return yield* inUse
      if (!force && (yield* this.hasUndecided(row)))
        return yield* new Conflict({
          message: "The layer has changes that were neither accepted nor rejected. Nothing was removed.",
          details: { undecided: true }
        })
      const removing: LayerRow = { ...row, state: "removing" }
      yield* Effect.uninterruptible(
        Effect.andThen(this.store.commit([putLayer(removing)]), this.removeLayer(removing))
      ).pipe(
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
        if (findLayer(this.store, owner) === undefined) forgetEdgeRefs(this.folderOf(owner))
      })
    )

  private folderOf(owner: RunId): string {
    return layerFolder(this.home, owner)
  }

  private planned(row: LayerRow): PlannedLayer {
    const path = row.enforced ? row.root : layerPlaces(this.folderOf(row.owner)).copy
    return { layer: layerOf(row), path, row: putLayer(row) }
  }

  private get requireSpace(): Effect.Effect<void, Overloaded> {
    return Effect.flatMap(
      Effect.promise(() => statfs(this.home)),
      ({ bavail, bsize }) =>
        bavail * bsize < MIN_FREE_BYTES
          ? Effect.fail(
              new Overloaded({
                message: "The disk with the Edge's files has too little free space for a layer. Free 256 MiB.",
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

  private statesOf(row: LayerRow): Effect.Effect<LayerStates, GitFailed> {
    return Effect.suspend(() => {
      const { snapshots } = this
      const shadow = snapshots.repositoryOf(row.root)
      return shadow === undefined
        ? Effect.fail(new GitFailed({ message: "the Edge found no git program" }))
        : Effect.succeed(new LayerStates({ snapshots, shadow, row, folder: this.folderOf(row.owner) }))
    })
  }

  private readonly make = Effect.fnUntraced(
    { self: this },
    function* (row: LayerRow, states: LayerStates, mark: Readonly<Record<string, string>>) {
      const folder = this.folderOf(row.owner)
      const { copy, lower, upper, work } = layerPlaces(folder)
      const leftOut = yield* states.see
      const repository = this.repositoryOf(row, mark)
      yield* attemptFiles(() => {
        makeFolder(folder, 0o700)
        const all = row.means === "overlayfs" ? [upper, work, lower] : [copy]
        for (const each of all) makeFolder(each, 0o700)
        // The folder at the top of an overlay has the permissions of the upper one.
        if (row.means === "overlayfs") chmodSync(upper, statSync(row.root).mode & 0o7777)
      })
      if (row.means !== "overlayfs") yield* this.copyFiles(row, copy, repository !== undefined)
      if (repository !== undefined) yield* repository.created
      const begun =
        row.means === "overlayfs"
          ? states.begin(leftOut, undefined)
          : Effect.scoped(Effect.flatMap(this.view(row, "read"), (view) => states.begin(leftOut, view)))
      yield* this.change({ ...row, state: "kept" }, yield* begun)
    }
  )

  /** The run has its own repository instead of the workspace's. */
  private copyFiles(row: LayerRow, copy: string, hasRepository: boolean): Effect.Effect<void, GitFailed> {
    const leftOut = hasRepository ? [".git"] : []
    return copyTree(row.root, copy, leftOut).pipe(
      Effect.mapError((message) => new GitFailed({ message })),
      Effect.tap(() =>
        attemptFiles(() => {
          // Place of the repository.
          if (hasRepository && row.enforced) makeFolder(join(copy, ".git"), 0o700)
        })
      )
    )
  }

  private readonly continueIn = Effect.fnUntraced(
    { self: this },
    function* (row: LayerRow, states: LayerStates, mark: Readonly<Record<string, string>>) {
      const before = row.runs.at(-2)
      if (row.captured !== before) yield* this.capture(row, before)
      const repository = this.repositoryOf(row, mark)
      if (repository !== undefined) yield* repository.opened
      const merged = yield* states.merge((use) =>
        Effect.scoped(Effect.flatMap(this.view(row, "write"), (view) => use(this.topOf(row, view))))
      )
      if (merged !== undefined) yield* this.change({ ...row, ...(before === undefined ? {} : { captured: before }) }, merged)
    }
  )

  private change(
    { captured, owner, state }: LayerRow,
    change: LayerChange
  ): Effect.Effect<void, GitFailed> {
    const writes: ReadonlyArray<Write> = [
      ["UPDATE layers SET state = ? WHERE owner = ?", state, owner],
      patchLayer(owner, { state, ...(captured === undefined ? {} : { captured }), ...change })
    ]
    return Effect.mapError(this.store.commit(writes), ({ message }) => new GitFailed({ message }))
  }

  /** Takes the result of the newest run, or of `of`. */
  private readonly capture = Effect.fnUntraced({ self: this }, function* (row: LayerRow, of = row.runs.at(-1)) {
    const states = yield* this.statesOf(row)
    const state = yield* Effect.scoped(Effect.flatMap(this.view(row, "read"), (view) => states.settle(view)))
    yield* this.change({ ...row, ...(of === undefined ? {} : { captured: of }) }, { incomplete: state.leftOut })
    return state
  })

  /** The files of the layer, until the scope closes. */
  private view(row: LayerRow, kind: "read" | "write"): Effect.Effect<SnapshotView, GitFailed, Scope.Scope> {
    const { programs } = this.checks
    const folder = this.folderOf(row.owner)
    const name = viewNameOf(row.owner)
    const { root } = row
    if (row.means === "overlayfs" && programs === undefined)
      return Effect.fail(new GitFailed({ message: "this machine can no longer mount the layer" }))
    const mount: LayerMount = { kind: row.means === "overlayfs" ? kind : "copy", folder, root }
    const { copy } = layerPlaces(folder)
    const direct: SnapshotView = { name, at: (path) => path, folder: copy }
    if (programs === undefined) return Effect.succeed(direct)
    return mountLayer(programs, mount).pipe(
      Effect.map(({ at, enter }): SnapshotView => ({ name, at, enter })),
      // Of a copy, the mount only adds the rules of a repository around the workspace.
      Effect.catch((message) =>
        row.means === "overlayfs" ? Effect.fail(new GitFailed({ message })) : Effect.succeed(direct)
      )
    )
  }

  private topOf({ root }: LayerRow, { at, folder }: SnapshotView): string {
    return folder ?? at(root)
  }

  private repositoryOf(
    row: LayerRow,
    mark: Readonly<Record<string, string>> = {}
  ): LayerRepository | undefined {
    const { isolation, program } = this
    return row.commit === undefined || program === undefined
      ? undefined
      : new LayerRepository({ row, commit: row.commit, folder: this.folderOf(row.owner), program, isolation, mark })
  }

  private withRepository<A, E>(
    owner: RunId,
    use: (repository: LayerRepository) => Effect.Effect<A, E>
  ): Effect.Effect<A | undefined, E> {
    return Effect.suspend(() => {
      const row = findLayer(this.store, owner)
      const repository = row?.state === "kept" ? this.repositoryOf(row) : undefined
      return repository === undefined ? Effect.undefined : use(repository)
    })
  }

  private readonly hasUndecided = Effect.fnUntraced({ self: this }, function* (row: LayerRow) {
    const trees = Effect.gen({ self: this }, function* () {
      if (row.captured !== row.runs.at(-1)) yield* this.capture(row)
      const states = yield* this.statesOf(findLayer(this.store, row.owner) ?? row)
      return (yield* states.baseTree) !== (yield* states.resultTree)
    })
    // If the comparison fails, the layer counts as having changes.
    return yield* trees.pipe(
      Effect.tapError(logFailure("failed to examine layer", row.owner)),
      Effect.orElseSucceed(() => row.state === "kept")
    )
  })

  /** Removes a layer from disk, then its row or the row's state. */
  private readonly removeLayer = Effect.fnUntraced({ self: this }, function* (row: LayerRow) {
    const { owner } = row
    yield* Effect.mapError(removeFolder(this.folderOf(owner)), (message) => new GitFailed({ message }))
    const repository = this.repositoryOf(row)
    if (repository !== undefined) yield* repository.removed
    const states = yield* Effect.option(this.statesOf(row))
    if (states._tag === "Some") states.value.remove()
    yield* this.store.commit([row.state === "making" ? dropLayer(owner) : putLayer({ ...row, state: "removed" })])
  })
}

const logFailure =
  (what: string, owner: RunId) => (cause: { readonly message: string }) =>
    Effect.logWarning(what).pipe(Effect.annotateLogs({ runId: owner, cause: cause.message }))
