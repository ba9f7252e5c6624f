/**
 * Work on one layer: it is made, continued, mounted for readers, compared and removed.
 *
 * Guarantees: a layer is complete before its row says so. Its states are read and written by one caller at a time.
 */
import type { RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Effect, type Scope, Semaphore } from "effect"
import { chmodSync, statSync } from "node:fs"
import { join } from "node:path"
import { removeFolder } from "../process/TemporaryFolder.ts"
import type { Store, StoreFailed, Write } from "../store/Store.ts"
import type { SnapshotView } from "../workspace/CaptureInProgress.ts"
import { attemptFiles, GitFailed, type GitIsolation } from "../workspace/Git.ts"
import { claimGroupBase, findGroupBase, type GroupBase, type RunGroup } from "../workspace/GroupBases.ts"
import type { CapturedState, Snapshots } from "../workspace/Snapshots.ts"
import type { StateTree } from "../workspace/Snapshots.ts"
import { changeSetIdOf } from "../change/ChangeIds.ts"
import { findSet, setBase } from "../change/ChangeRows.ts"
import { copyTree, type LayerChecks } from "./LayerMeans.ts"
import { type LayerFiles, type LayerMount, mounted, mountLayer } from "./LayerMounts.ts"
import { LayerRepository } from "./LayerRepository.ts"
import {
  dropLayer,
  findLayer,
  type LayerChange,
  layerFolder,
  layerPlaces,
  type LayerRow,
  layersInUse,
  patchLayer,
  putLayer
} from "./LayerRows.ts"
import { openThrownAway, type ThrownAwayFiles } from "./ThrownAway.ts"
import { LayerStates, viewNameOf } from "./LayerStates.ts"

/** What all layers of an Edge share. */
export interface LayerTools {
  /** Real path of the Edge's folder. */
  readonly home: string
  readonly store: Store["Service"]
  readonly snapshots: Snapshots["Service"]
  readonly isolation: GitIsolation
  /** Absolute path of git; `undefined` without git. */
  readonly program: string | undefined
  /** Programs that run where a layer is mounted, and what they load. */
  readonly filesInNamespace: ReadonlyArray<string>
  readonly checks: LayerChecks
}

/** Environment that marks the processes of a run. */
type Mark = Readonly<Record<string, string>>

/** For each layer: its states are index files, which git rewrites when it reads them. */
const locks = new Map<RunId, Semaphore.Semaphore>()
/** Of a group, one caller at a time takes the base. */
const baseTurn = Semaphore.makeUnsafe(1)

export class LayerWork {
  readonly row: LayerRow
  readonly folder: string
  readonly #tools: LayerTools

  constructor(tools: LayerTools, row: LayerRow) {
    this.#tools = tools
    this.row = row
    this.folder = layerFolder(tools.home, row.owner)
  }

  get states(): Effect.Effect<LayerStates, GitFailed> {
    return Effect.suspend(() => {
      const { snapshots, store } = this.#tools
      const { owner, root } = this.row
      const base = findSet(store, changeSetIdOf(owner))?.base
      const row = base === undefined ? this.row : { ...this.row, base }
      return snapshots.repository(root).pipe(
        Effect.map((shadow) => new LayerStates({ snapshots, shadow, row, folder: this.folder })),
        Effect.mapError(() => new GitFailed({ message: "the Edge found no git program" }))
      )
    })
  }

  repository(mark: Mark = {}): LayerRepository | undefined {
    const { isolation, program } = this.#tools
    const { commit } = this.row
    return commit === undefined || program === undefined
      ? undefined
      : new LayerRepository({ row: this.row, commit, folder: this.folder, program, isolation, mark })
  }

  /** Makes the layer. */
  readonly make = Effect.fnUntraced(
    { self: this },
    function* (this: LayerWork, states: LayerStates, mark: Mark) {
      const { group, means, root } = this.row
      const { copy, lower, upper, work } = layerPlaces(this.folder)
      const leftOut = yield* states.see
      const base =
        group === undefined ? undefined : yield* baseTurn.withPermit(this.#baseOf(group, states, leftOut))
      const commit = this.row.commit && (base?.commit ?? this.row.commit)
      const repository = new LayerWork(this.#tools, {
        ...this.row,
        ...(commit === undefined ? {} : { commit })
      }).repository(mark)
      yield* attemptFiles(() => {
        const all = means === "overlayfs" ? [upper, work, lower] : [copy]
        for (const each of [this.folder, ...all]) makeFolder(each, 0o700)
        // The folder at the top of an overlay has the permissions of the upper one.
        if (means === "overlayfs") chmodSync(upper, statSync(root).mode & 0o7777)
      })
      if (means !== "overlayfs") yield* this.#copyFiles(copy, repository !== undefined)
      if (repository !== undefined) yield* repository.created
      const first =
        means === "overlayfs"
          ? states.begin(leftOut, undefined)
          : Effect.scoped(Effect.flatMap(this.view("read"), (view) => states.begin(leftOut, view)))
      const start = yield* first
      const moved =
        base?.tree === undefined
          ? {}
          : yield* states.startFrom(base.tree, (use) =>
              Effect.scoped(Effect.flatMap(this.view("write"), (view) => use(this.topOf(view))))
            )
      const incomplete = [...new Set([...(start.incomplete ?? []), ...(base?.incomplete ?? [])])].toSorted()
      yield* this.#change({
        state: "kept",
        ...start,
        ...moved,
        incomplete,
        ...(commit === undefined ? {} : { commit })
      })
    }
  )

  /** The base of a group: what this layer saw of the workspace, unless another one was first. */
  readonly #baseOf = Effect.fnUntraced(
    { self: this },
    function* (
      this: LayerWork,
      id: TaskGroupId,
      states: LayerStates,
      incomplete: ReadonlyArray<string>
    ): Effect.fn.Return<GroupBase, GitFailed> {
      const { store } = this.#tools
      const { commit, root } = this.row
      const group: RunGroup = { id, kind: "layer", root }
      const found = findGroupBase(store, group)
      if (found !== undefined) return found
      const base: GroupBase = {
        tree: yield* states.seenTree(id),
        incomplete,
        ...(commit === undefined ? {} : { commit })
      }
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.mapError(
        claimGroupBase(store, group, base, now),
        ({ message }) => new GitFailed({ message })
      )
    }
  )

  /** Merges the person's edits, and takes what a crash prevented. */
  readonly continue = Effect.fnUntraced(
    { self: this },
    function* (this: LayerWork, states: LayerStates, mark: Mark) {
      const before = this.row.runs.at(-2)
      if (this.row.captured !== before) yield* this.capture(before)
      const repository = this.repository(mark)
      if (repository !== undefined) yield* repository.opened
      const merged = yield* this.exclusive(
        states.merge((use) =>
          Effect.scoped(Effect.flatMap(this.view("write"), (view) => use(this.topOf(view))))
        )
      )
      if (merged !== undefined) {
        const { base, conflicts } = merged
        yield* this.#commit([setBase(changeSetIdOf(this.row.owner), base, conflicts)])
      }
    }
  )

  /** Takes the result of the newest run, or of `of`. */
  capture(of = this.row.runs.at(-1)): Effect.Effect<CapturedState, GitFailed> {
    return this.exclusive(this.#capture(of))
  }

  /** Uses the states while no other caller does. */
  exclusive<A, E>(use: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const { owner } = this.row
      const lock = locks.get(owner) ?? Semaphore.makeUnsafe(1)
      locks.set(owner, lock)
      return lock.withPermit(use)
    })
  }

  readonly #capture = Effect.fnUntraced({ self: this }, function* (this: LayerWork, of: RunId | undefined) {
    const states = yield* this.states
    const state = yield* Effect.scoped(Effect.flatMap(this.view("read"), (view) => states.settle(view)))
    yield* this.#change({ incomplete: state.leftOut, ...(of === undefined ? {} : { captured: of }) })
    return state
  })

  /** The files of the layer, until the scope closes. */
  view(kind: "read" | "write"): Effect.Effect<SnapshotView, GitFailed, Scope.Scope> {
    const { programs } = this.#tools.checks
    const { means, owner, root } = this.row
    const name = viewNameOf(owner)
    const direct: SnapshotView = { name, at: (path) => path, folder: layerPlaces(this.folder).copy }
    const isOverlay = means === "overlayfs"
    if (programs === undefined)
      return isOverlay ? Effect.fail(new GitFailed({ message: CANNOT_MOUNT })) : Effect.succeed(direct)
    return mountLayer(programs, { kind: isOverlay ? kind : "copy", folder: this.folder, root }).pipe(
      Effect.map(({ at, enter }): SnapshotView => ({ name, at, enter })),
      // Of a copy, the mount only adds the rules of a repository around the workspace.
      Effect.catch((message) =>
        isOverlay ? Effect.fail(new GitFailed({ message })) : Effect.succeed(direct)
      )
    )
  }

  /** Where the Edge's own code reads and writes the files of a view. */
  topOf({ at, folder }: SnapshotView): string {
    return folder ?? at(this.row.root)
  }

  /** Files for the confinement of a run. Fails with a phrase. */
  get files(): Effect.Effect<LayerFiles, string, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { group, means, root, runs } = this.row
      const repository = this.repository()?.files
      const { copy } = layerPlaces(this.folder)
      if (means !== "overlayfs") return { look: copy, source: copy, repository, around: undefined }
      const { programs } = this.#tools.checks
      if (programs === undefined) return yield* Effect.fail(CANNOT_MOUNT)
      const mount: LayerMount = { kind: "write", folder: this.folder, root }
      const around: LayerFiles["around"] = (command) => mounted(programs, mount, command)
      // Nothing is in a new layer, unless it began with the base of a group.
      if (runs.length === 1 && group === undefined) return { look: root, source: root, repository, around }
      const view = yield* mountLayer(programs, { ...mount, kind: "read" })
      return { look: view.at(root), source: root, repository, around }
    })
  }

  /** Files above those of the layer, whose writes are thrown away. They end with the scope. Fails with a phrase. */
  get thrownAway(): Effect.Effect<ThrownAwayFiles, string, Scope.Scope> {
    return Effect.suspend(() => {
      const { means, root } = this.row
      return openThrownAway(this.#tools, {
        root,
        layer: this.folder,
        isOverlay: means === "overlayfs",
        repository: this.repository()?.files
      })
    })
  }

  /** The stored result, or a new one if that is due. */
  get result(): Effect.Effect<StateTree, GitFailed> {
    const result = Effect.gen({ self: this }, function* () {
      const { store } = this.#tools
      const { owner } = this.row
      // Another caller may have taken it meanwhile.
      const { captured, incomplete, runs } = findLayer(store, owner) ?? this.row
      const isDue = captured !== runs.at(-1) && !layersInUse(store).has(owner)
      const leftOut = isDue ? (yield* this.#capture(runs.at(-1))).leftOut : incomplete
      return { tree: yield* (yield* this.states).resultTree, leftOut }
    })
    return this.exclusive(result)
  }

  /** The tree with which the result is compared. */
  get base(): Effect.Effect<string, GitFailed> {
    return this.exclusive(Effect.flatMap(this.states, ({ baseTree }) => baseTree))
  }

  /** Uses the files, which are compared again from now on, also if this process ends meanwhile. */
  written<A, E>(use: (top: string) => Effect.Effect<A, E>): Effect.Effect<A, E | GitFailed> {
    const isWritten = this.#change({ captured: null })
    return Effect.scoped(
      Effect.flatMap(this.view("write"), (view) => Effect.andThen(isWritten, use(this.topOf(view))))
    ).pipe(Effect.onExit(() => Effect.ignore(isWritten, { log: true })))
  }

  /** Whether the result differs from the base. */
  get isChanged(): Effect.Effect<boolean, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const { tree } = yield* this.result
      return (yield* this.base) !== tree
    })
  }

  /** Removes the layer from disk, then its row or the row's state. */
  get removed(): Effect.Effect<void, GitFailed | StoreFailed> {
    return Effect.gen({ self: this }, function* () {
      const { owner, state } = this.row
      yield* Effect.mapError(removeFolder(this.folder), (message) => new GitFailed({ message }))
      const repository = this.repository()
      if (repository !== undefined) yield* repository.removed
      const states = yield* Effect.option(this.states)
      if (states._tag === "Some") states.value.remove()
      locks.delete(owner)
      yield* this.#tools.store.commit([
        state === "making" ? dropLayer(owner) : putLayer({ ...this.row, state: "removed" })
      ])
    })
  }

  #change(change: LayerChange): Effect.Effect<void, GitFailed> {
    const { owner } = this.row
    const { state } = change
    return this.#commit([
      ...(state === undefined
        ? []
        : [["UPDATE layers SET state = ? WHERE owner = ?", state, owner] satisfies Write]),
      patchLayer(owner, change)
    ])
  }

  #commit(writes: ReadonlyArray<Write>): Effect.Effect<void, GitFailed> {
    return Effect.mapError(this.#tools.store.commit(writes), ({ message }) => new GitFailed({ message }))
  }

  /** The run has its own repository instead of the workspace's. */
  #copyFiles(copy: string, hasRepository: boolean): Effect.Effect<void, GitFailed> {
    const { root } = this.row
    return copyTree(root, copy, hasRepository ? [".git"] : []).pipe(
      Effect.mapError((message) => new GitFailed({ message })),
      Effect.tap(() =>
        attemptFiles(() => {
          // Place of the repository.
          if (hasRepository) makeFolder(join(copy, ".git"), 0o700)
        })
      )
    )
  }
}

const CANNOT_MOUNT = "this machine can no longer mount the layer"
