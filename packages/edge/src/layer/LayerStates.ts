/**
 * States of one layer, as index files and trees of its workspace's shadow repository: what it saw last of the workspace, its base, and its result.
 *
 * Guarantees: the result has only what a run of the layer wrote. What a person changes meanwhile in the workspace, and an overlay shows, is the
 * base's until it is merged.
 */
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { type Duration, Effect } from "effect"
import { copyFileSync, existsSync, linkSync, lstatSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { type IgnoredFolders, topFolders } from "../change/ChangeSource.ts"
import type { SnapshotView } from "../workspace/CaptureInProgress.ts"
import { folderEntries } from "../workspace/UntrustedFiles.ts"
import { attemptFiles, type GitFailed } from "../workspace/Git.ts"
import { bytePath, pathText } from "../workspace/PathText.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import type { CapturedState, Snapshots } from "../workspace/Snapshots.ts"
import {
  differingPaths,
  mergeEdits,
  readState,
  replaceFiles,
  type TreeState,
  withEntriesOf,
  writeState
} from "./LayerMerge.ts"
import { type LayerChange, layerPlaces, type LayerRow } from "./LayerRows.ts"

type StateName = "seen" | "now" | "base" | "raw" | "result"

export const viewNameOf = (owner: RunId): string => `layer-${owner}`

const exists = (path: Buffer | string) => lstatSync(path, { throwIfNoEntry: false })

/** Base of a layer after the person's edits were merged into it. */
export interface MovedBase {
  readonly base: string
  /** Paths where the person's edit and the change overlap. */
  readonly conflicts: ReadonlyArray<string>
}

export interface LayerStatesOptions {
  readonly snapshots: Pick<Snapshots["Service"], "capture">
  readonly shadow: ShadowRepository
  readonly row: LayerRow
  /** Folder of the layer. */
  readonly folder: string
}

/** How long the start of a run waits for its base. */
const START_LIMIT: Duration.Input = "10 minutes"
const MAX_NAMES = 100_000

export class LayerStates {
  readonly #options: LayerStatesOptions

  constructor(options: LayerStatesOptions) {
    this.#options = options
  }

  get shadow(): ShadowRepository {
    return this.#options.shadow
  }

  /** The index file of a state. */
  file(name: StateName): string {
    const { row, shadow } = this.#options
    return shadow.fileOf(viewNameOf(row.owner), name)
  }

  /** Takes the workspace's state as what the layer saw last of it. */
  get see(): Effect.Effect<ReadonlyArray<string>, GitFailed> {
    return Effect.map(this.#take("seen"), ({ leftOut }) => leftOut)
  }

  /** The base and the result of a new layer. A copy may have what changed while it was made. */
  readonly begin = Effect.fnUntraced(
    { self: this },
    function* (
      this: LayerStates,
      leftOut: ReadonlyArray<string>,
      view: SnapshotView | undefined
    ): Effect.fn.Return<LayerChange, GitFailed> {
      const { shadow } = this.#options
      if (view === undefined) {
        yield* attemptFiles(() => this.#link("seen", "result"))
        return { incomplete: leftOut }
      }
      const { leftOut: incomplete } = yield* this.#take("result", view)
      return { incomplete, base: yield* shadow.treeOf(this.file("result")) }
    }
  )

  /** The state that a new layer saw last, as a tree. `name`: it stays as the base of this group. */
  readonly seenTree = Effect.fnUntraced(
    { self: this },
    function* (this: LayerStates, name: TaskGroupId): Effect.fn.Return<string, GitFailed> {
      const { shadow } = this.#options
      const index = shadow.fileOf(name, "base")
      // Git writes what it computes into the index. What was seen stays as it is.
      yield* attemptFiles(() => {
        makeFolder(dirname(index))
        copyFileSync(this.file("seen"), index)
      })
      return yield* shadow.treeOf(index)
    }
  )

  /** Gives a new layer the files of an earlier state of the workspace. What has changed since is an edit of the person. */
  readonly startFrom = Effect.fnUntraced(
    { self: this },
    function* (
      this: LayerStates,
      tree: string,
      withTop: (use: (top: string) => Effect.Effect<void, GitFailed>) => Effect.Effect<void, GitFailed>
    ): Effect.fn.Return<Pick<LayerChange, "base">, GitFailed> {
      const { shadow } = this.#options
      const index = this.file("base")
      yield* shadow.run(["read-tree", tree], { index })
      const [wanted, now] = yield* attemptFiles(
        () => [readState(index), readState(this.file("result"))] as const
      )
      if (differingPaths(now, wanted).length === 0) return {}
      yield* withTop((top) => replaceFiles({ shadow, top }, now, wanted))
      yield* attemptFiles(() => {
        for (const name of ["seen", "result"] as const) {
          rmSync(this.file(name), { force: true })
          writeState(this.file(name), wanted)
        }
      })
      return { base: tree }
    }
  )

  /** The result at the end of a turn. */
  readonly settle = Effect.fnUntraced(
    { self: this },
    function* (this: LayerStates, view: SnapshotView): Effect.fn.Return<CapturedState, GitFailed> {
      const { leftOut } = yield* this.#take("raw", view)
      const base = yield* this.baseIndex
      yield* attemptFiles(() => {
        const raw = this.file("raw")
        const foreign =
          this.#isOverlay && !isSameFile(raw, base)
            ? this.#foreign(readState(base), readState(raw))
            : undefined
        if (foreign === undefined) this.#link("raw", "result")
        else {
          rmSync(this.file("result"), { force: true })
          writeState(this.file("result"), foreign)
        }
      })
      return { index: this.file("result"), leftOut }
    }
  )

  /** Merges the person's edits since the last turn. `undefined` if there are none. `top`: where the layer's files are written. */
  readonly merge = Effect.fnUntraced(
    { self: this },
    function* (
      this: LayerStates,
      withTop: (
        use: (top: string) => Effect.Effect<MovedBase, GitFailed>
      ) => Effect.Effect<MovedBase, GitFailed>
    ): Effect.fn.Return<MovedBase | undefined, GitFailed> {
      yield* this.#take("now")
      if (isSameFile(this.file("now"), this.file("seen"))) return undefined
      const base = yield* this.baseIndex
      const states = yield* attemptFiles(() => ({
        base: readState(base),
        workspace: readState(this.file("now")),
        result: readState(this.file("result"))
      }))
      if (differingPaths(states.base, states.workspace).length === 0) {
        yield* attemptFiles(() => this.#link("now", "seen"))
        return undefined
      }
      return yield* withTop((top) => this.#mergeAt(top, states))
    }
  )

  readonly #mergeAt = Effect.fnUntraced(
    { self: this },
    function* (
      this: LayerStates,
      top: string,
      states: { readonly base: TreeState; readonly workspace: TreeState; readonly result: TreeState }
    ): Effect.fn.Return<MovedBase, GitFailed> {
      const { shadow } = this.#options
      const shows = (path: string) => this.#isOverlay && !this.#isInUpper(path)
      const merged = yield* mergeEdits({ shadow, ...states, top, shows })
      const { conflicts } = merged
      yield* attemptFiles(() => {
        for (const name of ["result", "base"] as const) {
          rmSync(this.file(name), { force: true })
          writeState(this.file(name), merged[name])
        }
        this.#link("now", "seen")
      })
      const paths = conflicts.map((path) => pathText(Buffer.from(path, "latin1")))
      return { conflicts: paths, base: yield* shadow.treeOf(this.file("base")) }
    }
  )

  /** An index file with the base. */
  get baseIndex(): Effect.Effect<string, GitFailed> {
    const { row, shadow } = this.#options
    const { base } = row
    const index = this.file("base")
    return base === undefined
      ? Effect.succeed(this.file("seen"))
      : Effect.as(shadow.run(["read-tree", base], { index }), index)
  }

  get baseTree(): Effect.Effect<string, GitFailed> {
    const { row, shadow } = this.#options
    if (row.base !== undefined) return Effect.succeed(row.base)
    // Git writes what it computes into the index. The file of what was seen stays as it is: it is compared by its identity.
    return Effect.andThen(
      attemptFiles(() => copyFileSync(this.file("seen"), this.file("base"))),
      shadow.treeOf(this.file("base"))
    )
  }

  get resultTree(): Effect.Effect<string, GitFailed> {
    return this.#options.shadow.treeOf(this.file("result"))
  }

  /** Ignored files that runs wrote, by top folder. Of a copy they are not found. */
  get ignored(): IgnoredFolders {
    if (!this.#isOverlay || !existsSync(this.file("result"))) return []
    const stored = readState(this.file("result"))
    const paths: Array<Buffer> = []
    let names = 0
    const walk = (folder: string): void => {
      for (const entry of folderEntries(join(layerPlaces(this.#options.folder).upper, folder))) {
        if (++names > MAX_NAMES) return
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`
        if (path === ".git") continue
        if (entry.isDirectory()) walk(path)
        else if (entry.isFile() && !stored.has(Buffer.from(path).toString("latin1")))
          paths.push(Buffer.from(path))
      }
    }
    walk("")
    return topFolders(paths)
  }

  /** Removes everything of the layer from the shadow repository. */
  remove(): void {
    const { row, shadow } = this.#options
    for (const name of ["seen", "now", "base", "raw", "result"] as const)
      rmSync(this.file(name), { force: true })
    for (const { name } of folderEntries(shadow.folder))
      if (name.startsWith("index") && name.endsWith(`.${viewNameOf(row.owner)}`))
        rmSync(join(shadow.folder, name), { force: true })
  }

  get #isOverlay(): boolean {
    return this.#options.row.means === "overlayfs"
  }

  #take(
    name: StateName,
    view?: SnapshotView
  ): Effect.Effect<{ readonly leftOut: ReadonlyArray<string> }, GitFailed> {
    const { shadow, snapshots } = this.#options
    return snapshots.capture(shadow, this.file(name), { limit: START_LIMIT, view })
  }

  #link(from: StateName, to: StateName): void {
    rmSync(this.file(to), { force: true })
    linkSync(this.file(from), this.file(to))
  }

  /** The state without what a person changed in the workspace meanwhile; `undefined` if that is nothing. */
  #foreign(base: TreeState, raw: TreeState): TreeState | undefined {
    const { root } = this.#options.shadow
    const isForeign = (path: string): boolean => {
      if (this.#isInUpper(path)) return false
      // A file that the overlay hides was deleted by a run, with its folder.
      return raw.has(path) || exists(bytePath(root, path)) === undefined
    }
    const paths = differingPaths(base, raw).filter(isForeign)
    return paths.length === 0 ? undefined : withEntriesOf(raw, base, paths)
  }

  /** Whether a run wrote the path, or removed a folder on the way to it. */
  #isInUpper(path: string): boolean {
    const { upper } = layerPlaces(this.#options.folder)
    const names = path.split("/")
    for (let depth = 1; depth <= names.length; depth++) {
      const stat = exists(bytePath(upper, names.slice(0, depth).join("/")))
      if (stat === undefined) return false
      if (depth === names.length || !stat.isDirectory()) return true
    }
    return false
  }
}

const isSameFile = (one: string, other: string): boolean => {
  const [a, b] = [one, other].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

/** What a failure of git means for a set of changes. */
export const unknownChanges = ({ end, message }: Pick<GitFailed, "end" | "message">): ChangesUnknown =>
  new ChangesUnknown({
    details: end === "slow" ? { reason: "too_large" } : { reason: "failed", detail: message }
  })
