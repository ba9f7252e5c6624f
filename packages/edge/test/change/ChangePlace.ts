/**
 * A workspace and a layer of it, for decisions: a copy of the workspace that a run has worked in, with its own set. The layer is a plain folder,
 * read and captured as a worktree is.
 */
import { Effect, Layer } from "effect"
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { Run } from "@corral/domain/run/Run"
import type { ChangeSelection, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { ChangeDecider } from "../../src/change/ChangeDecisions.ts"
import { Changes } from "../../src/change/Changes.ts"
import {
  type ChangeSource,
  ChangeSources,
  LayerSources,
  requireEnded
} from "../../src/change/ChangeSource.ts"
import { changeSetIdOf } from "../../src/change/ChangeIds.ts"
import { setBase } from "../../src/change/ChangeRows.ts"
import { ChangeFileOperations, type FileOperations } from "../../src/change/FolderFiles.ts"
import { Confinement, isolatedGitLayer } from "../../src/confinement/Confinement.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { findRun, insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { Snapshots } from "../../src/workspace/Snapshots.ts"
import { Workspaces } from "../../src/workspace/Workspaces.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer, newRunId, runOf } from "../Samples.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"

export const workspace = "ws" as WorkspaceId
export const decider: ChangeDecider = { by: "local", origin: "terminal" }

const absolute = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, "latin1")])

/** Writes a tree into an empty folder. */
export const writeTree = (root: string, tree: Tree): void => {
  for (const [path, file] of tree) writeTreeFile(root, path, file)
}

export const writeTreeFile = (root: string, path: string, { content, mode }: TreeFile): void => {
  const file = absolute(root, path)
  mkdirSync(absolute(root, dirname(path)), { recursive: true })
  if (mode === "120000") symlinkSync(content, file)
  else {
    writeFileSync(file, content)
    chmodSync(file, mode === "100755" ? 0o755 : 0o644)
  }
}

/** All files of a folder, with names in Latin-1. */
export const readTree = (root: string): Tree => {
  const found = new Map<string, TreeFile>()
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder === "" ? root : absolute(root, folder), {
      encoding: "latin1",
      withFileTypes: true
    })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      const file = absolute(root, path)
      if (entry.isDirectory()) visit(path)
      else if (entry.isSymbolicLink())
        found.set(path, { mode: "120000", content: readlinkSync(file, { encoding: "buffer" }) })
      else
        found.set(path, {
          mode: (lstatSync(file).mode & 0o100) === 0 ? "100644" : "100755",
          content: readFileSync(file)
        })
    }
  }
  visit("")
  return found
}

/** A tree as text, to compare. */
export const shownTree = (tree: Tree): ReadonlyArray<string> =>
  [...tree]
    .map(([path, { content, mode }]) => `${JSON.stringify(path)} ${mode} ${content.toString("latin1")}`)
    .toSorted()

export interface ChangePlace {
  readonly folder: string
  readonly home: string
  /** The workspace. */
  readonly root: string
  /** The layer. */
  readonly view: string
  readonly run: Run
}

/** The place in a folder. */
export const placeAt = (folder: string, id: RunId): ChangePlace => ({
  folder,
  home: join(folder, "home"),
  root: join(folder, "workspace"),
  view: join(folder, "view"),
  run: runOf(id, { workspace, state: "completed" })
})

/** A place with this workspace. Its layer is empty. */
export const changePlace = Effect.fnUntraced(function* (base: Tree) {
  const place = placeAt(yield* temporaryFolder, newRunId())
  for (const each of [place.home, place.root, place.view]) mkdirSync(each)
  writeTree(place.root, base)
  return place
})

/** Starts the layer with the workspace as it is, and leaves it as the run does. */
export const workInLayer = Effect.fnUntraced(function* ({ root, run, view }: ChangePlace, result: Tree) {
  const store = yield* Store
  const snapshots = yield* Snapshots
  const setId = changeSetIdOf(run.id)
  writeTree(view, readTree(root))
  const { leftOut, tree } = yield* snapshots.take(setId, view)
  yield* store.commit([insertRun(run), setBase(setId, tree, [], leftOut)])
  for (const name of readdirSync(view, { encoding: "buffer" }))
    rmSync(Buffer.concat([Buffer.from(`${view}/`), name]), { recursive: true })
  writeTree(view, result)
})

const layerSources = (places: ReadonlyArray<ChangePlace>) =>
  Layer.effect(
    LayerSources,
    Effect.gen(function* () {
      const snapshots = yield* Snapshots
      const store = yield* Store
      const sourceOf = (run: Run) => {
        const found = places.find((each) => each.run.id === run.id)
        if (found === undefined) return Effect.undefined
        const { root, view } = found
        return Effect.map(snapshots.repository(view), (shadow): ChangeSource => {
          const setId = changeSetIdOf(run.id)
          const now = findRun(store, run.id) ?? run
          return {
            setId,
            owner: run.id,
            isolation: "worktree",
            workspace,
            root,
            runs: [now],
            direct: false,
            shadow,
            base: Effect.fail(new ChangesUnknown({ details: { reason: "no_start" } })),
            result: snapshots.take(setId, view),
            ignored: Effect.succeed([]),
            commits: Effect.succeed([]),
            reserve: requireEnded([now]),
            withFiles: (use) => use(view),
            withView: (use) => use(view)
          }
        })
      }
      return { sourceOf }
    })
  )

/** Services of an Edge at the place, and at others of the same workspace. Built again, they are those of the next Edge. */
export const changeServices = (
  place: ChangePlace,
  operations?: FileOperations,
  others: ReadonlyArray<ChangePlace> = []
) => {
  const services = [
    Snapshots.layer,
    Workspaces.layer,
    Worktrees.layer.pipe(Layer.provide(isolatedGitLayer), Layer.provide(Confinement.layer))
  ] as const
  const config = configLayer(place.home, {
    workspaces: [{ id: workspace, path: place.root }],
    environment: { PATH: process.env.PATH ?? "" }
  })
  return Changes.layer.pipe(
    Layer.provide(ChangeSources.layer),
    Layer.provide(layerSources([place, ...others])),
    Layer.provideMerge(Layer.mergeAll(...services)),
    Layer.provide(EdgeEventLog.layer),
    Layer.provideMerge(Store.layer(join(place.home, "edge.db"))),
    Layer.provide(config),
    Layer.provide(operations === undefined ? Layer.empty : Layer.succeed(ChangeFileOperations, operations))
  )
}

export const everything = (set: ChangeSet): ChangeSelection => ({ all: true, version: set.version })
