/** Change sets of layers: what reads and decisions do to the layer. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Changes } from "../../src/change/Changes.ts"
import { fileIdOf } from "../../src/change/ChangeIds.ts"
import { mountPrograms } from "../../src/layer/LayerMounts.ts"
import { putLayer } from "../../src/layer/LayerRows.ts"
import { Layers } from "../../src/layer/Layers.ts"
import { Store } from "../../src/store/Store.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { decider } from "../change/ChangePlace.ts"
import { commitAll, copied, place, type Place, repository } from "../workspace/Repository.ts"
import {
  canOverlay,
  layerChanges,
  nextTurn,
  openLayer,
  putRun,
  rowOf,
  runInLayer,
  workspace
} from "./LayerPlace.ts"

const sampleWorkspace = copied((root) => {
  repository(root)
  mkdirSync(join(root, "folder"))
  for (const file of ["a.txt", "folder/b.txt"]) writeFileSync(join(root, file), "before\n")
  commitAll(root)
})

type Services = Layer.Success<ReturnType<typeof layerChanges>>

const means = [
  ["an overlay", mountPrograms(), canOverlay],
  ["a copy", undefined, true]
] as const

for (const [kind, programs, isPossible] of means)
  describe.skipIf(!canConfine || !isPossible)(`The changes of ${kind}`, () => {
    const inPlace = <E>(use: (at: Place) => Effect.Effect<void, E, Services>) =>
      Effect.gen(function* () {
        const at = yield* place
        sampleWorkspace(at.root)
        yield* Effect.provide(use(at), layerChanges(at, programs))
      }).pipe(Effect.scoped)

    const worked = Effect.fnUntraced(function* (at: Place) {
      const layer = yield* openLayer(at.root)
      yield* runInLayer(at, layer, "echo after > a.txt; rm -r folder; echo new > new.txt")
      yield* Effect.flatMap(Layers, (layers) => layers.settle(layer.run.id, layer.owner))
      return layer
    })

    it.effect("are read without a new capture, and without writing the layer", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const layer = yield* worked(at)
          const before = yield* rowOf(layer.owner)
          const { items, set } = yield* changes.read(layer.run.id, undefined, 10)
          assert.deepStrictEqual(
            items.map(({ path }) => path),
            ["a.txt", "folder/b.txt", "new.txt"]
          )
          assert.strictEqual((yield* changes.summary(layer.run.id)).version, set.version)
          assert.deepStrictEqual(yield* rowOf(layer.owner), before)
        })
      )
    )

    it.effect("have no rejected part in the answer of the first request, nor later", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const layer = yield* worked(at)
          const files = ["folder/b.txt", "new.txt"].map((name) => fileIdOf(Buffer.from(name)))
          const { decision, set } = yield* changes.reject(layer.run.id, { parts: { files } }, decider)
          assert.deepInclude(set, { state: "open", fileCount: 1 })
          assert.deepInclude(yield* changes.summary(layer.run.id), { fileCount: 1, version: set.version })
          const { stdout } = yield* runInLayer(at, layer, "cat folder/b.txt; ls new.txt 2>&1; cat a.txt")
          assert.match(stdout, /^before\n.*No such file.*\nafter\n$/)
          const undone = yield* changes.undo(layer.run.id, { decisionId: decision.id }, decider)
          assert.deepInclude(undone.set, { fileCount: 3 })
          assert.strictEqual(readFileSync(join(at.root, "a.txt"), "utf8"), "before\n")
        })
      )
    )

    it.effect("are not written to a folder that is no longer the workspace's", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const layer = yield* worked(at)
          const { id } = layer.run
          const version = (yield* (yield* Changes).summary(id)).version
          const other = join(at.root, "..", "other")
          mkdirSync(other)
          for (const workspaces of [[], [{ id: workspace, path: other }]]) {
            const row = yield* rowOf(layer.owner)
            const refusal = yield* Effect.gen(function* () {
              yield* (yield* Store).commit([putLayer(row), putRun(id, layer.run.layer)])
              return yield* Effect.flip(
                (yield* Changes).accept(id, { parts: { all: true, version } }, decider)
              )
            }).pipe(Effect.provide(Layer.fresh(layerChanges(at, programs, workspaces))))
            assert.strictEqual(refusal.code, "workspace_outside_allowlist")
          }
          assert.strictEqual(readFileSync(join(at.root, "a.txt"), "utf8"), "before\n")
        })
      )
    )

    it.effect("are not decided after a run has entered, not even by who looked before", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const layers = yield* Layers
          const store = yield* Store
          const layer = yield* worked(at)
          const source = yield* layers.sourceOf(layer.run)
          const { run } = yield* nextTurn(layer)
          yield* store.commit([putRun(run.id, run.layer, "running")])
          const refusal = yield* Effect.flip(Effect.scoped(source?.reserve ?? Effect.void))
          assert.strictEqual(refusal.code, "run_active")
        })
      )
    )
  })
