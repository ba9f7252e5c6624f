/** A layer with a confined shell in it, as a run has one, beside the workspace of its owner. */
import type { RunId, TaskGroupId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { Run, RunLayer, RunStatus } from "@corral/domain/run/Run"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { Confinement, isolatedGitLayer } from "../../src/confinement/Confinement.ts"
import { Changes } from "../../src/change/Changes.ts"
import { ChangeSources, LayerSources } from "../../src/change/ChangeSource.ts"
import type { EdgeConfig } from "../../src/config/EdgeConfig.ts"
import { LayerChecks, LayerPrograms } from "../../src/layer/LayerMeans.ts"
import type { MountPrograms } from "../../src/layer/LayerMounts.ts"
import { findLayer } from "../../src/layer/LayerRows.ts"
import { Layers } from "../../src/layer/Layers.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { Store, type Write } from "../../src/store/Store.ts"
import { Snapshots } from "../../src/workspace/Snapshots.ts"
import { Workspaces } from "../../src/workspace/Workspaces.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer, newRunId, runOf } from "../Samples.ts"
import type { Place } from "../workspace/Repository.ts"

export const workspace = "ws" as WorkspaceId
const PATH = "/usr/local/bin:/usr/bin:/bin"

/** Whether this machine mounts overlays for its tests. */
export const canOverlay = await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const checks = yield* LayerChecks.make(realpathSync(yield* temporaryFolder))
      return (yield* checks.readiness).means === "overlayfs"
    })
  )
)

/** Layers whose runs are confined. */
export const layerServices = ({ home }: Place, programs: MountPrograms | undefined, path = PATH) =>
  Layers.layer.pipe(
    Layer.provide([isolatedGitLayer, Layer.succeed(LayerPrograms, programs)]),
    Layer.provideMerge([Confinement.layer, Snapshots.layer]),
    Layer.provide(
      configLayer(home, {
        confinement: "required",
        environment: { PATH: path, HOME: join(home, "..", "user") }
      })
    ),
    Layer.provideMerge(Store.layerMemory)
  )

/** Decisions about what runs in layers have changed. */
export const layerChanges = (
  at: Place,
  programs: MountPrograms | undefined,
  workspaces: EdgeConfig["workspaces"] = [{ id: workspace, path: at.root }]
) => {
  const sources = Layer.effect(
    LayerSources,
    Effect.map(Layers, ({ sourceOf }) => ({ sourceOf }))
  )
  return Changes.layer.pipe(
    Layer.provide(ChangeSources.layer),
    Layer.provide([sources, Workspaces.layer, Worktrees.layer.pipe(Layer.provide(isolatedGitLayer))]),
    Layer.provide(EdgeEventLog.layer),
    Layer.provide(configLayer(at.home, { workspaces, environment: { PATH } })),
    Layer.provideMerge(layerServices(at, programs))
  )
}

export interface OpenLayer {
  readonly run: Pick<Run, "id"> & { readonly layer: RunLayer }
  readonly owner: RunId
}

/** A run in the layer, an ended one if no other state is named. */
export const putRun = (id: RunId, layer: RunLayer, state: RunStatus = "completed"): Write => {
  const run = runOf(id, { workspace, layer, state })
  return [
    "INSERT OR REPLACE INTO runs (id, state, created_at, last_seq, snapshot) VALUES (?, ?, ?, 0, ?)",
    id,
    run.state,
    run.createdAt,
    JSON.stringify(run)
  ]
}

/** A new layer, as the start of a run makes it. */
export const openLayer = Effect.fnUntraced(function* (root: string, enforced = true, group?: TaskGroupId) {
  const layers = yield* Layers
  const store = yield* Store
  const id = newRunId()
  const { layer, row } = yield* layers.plan({ id, workspace, root, enforced, group })
  yield* store.commit([row, putRun(id, layer)])
  const run = { id, layer }
  yield* layers.open(run, {}, () => undefined)
  return { run, owner: id }
})

/** A further turn in the layer. */
export const nextTurn = Effect.fnUntraced(function* ({ owner, run }: OpenLayer) {
  const layers = yield* Layers
  const { root } = yield* rowOf(owner)
  const id = newRunId()
  const { layer } = run
  const next = { id, layer }
  yield* Effect.scoped(
    Effect.flatMap(layers.enter(layer, id, root), ({ row }) =>
      Effect.flatMap(Store, (store) => store.commit([row, putRun(id, layer)]))
    )
  )
  yield* layers.open(next, {}, () => undefined)
  return { run: next, owner }
})

/** Runs a script in the layer, confined as a run in `auto_edit`. Returns what it printed. */
export const runInLayer = Effect.fnUntraced(function* (
  { home, root }: Place,
  { owner, run }: OpenLayer,
  script: string
) {
  const layers = yield* Layers
  const confinement = yield* Confinement
  const temporary = join(home, "tmp", run.id)
  mkdirSync(temporary, { recursive: true })
  mkdirSync(join(home, "..", "user"), { recursive: true })
  const identity = Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((who) => [
      [`GIT_${who}_NAME`, "A"],
      [`GIT_${who}_EMAIL`, "a@b.c"]
    ])
  )
  const env = { PATH, HOME: join(home, "..", "user"), ...identity }
  const spec = yield* confinement.confine(
    {
      ids: undefined,
      mode: "auto_edit",
      workspace: root,
      attachments: undefined,
      folders: undefined,
      network: undefined,
      grants: [],
      layer: layers.files(owner),
      user: { ask: () => Effect.succeed("denied"), report: () => undefined }
    },
    { file: "/bin/bash", args: ["-c", script], cwd: root, env, stdin: "ignore", temporary }
  )
  const { status, stderr, stdout } = spawnSync(spec.file, spec.args, {
    env: spec.env,
    encoding: "utf8",
    timeout: 60_000
  })
  return { status, stdout, stderr }
}, Effect.scoped)

/** The stored row. */
export const rowOf = (owner: RunId) =>
  Effect.map(Store, (store) => findLayer(store, owner) ?? assertNever(owner))

const assertNever = (owner: RunId): never => {
  throw new Error(`the layer of ${owner} has no row`)
}
