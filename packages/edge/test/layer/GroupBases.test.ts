/** Layers of one group: each begins with the base of the first one, regardless of what has become of the workspace. */
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Changes } from "../../src/change/Changes.ts"
import { fileIdOf } from "../../src/change/ChangeIds.ts"
import { mountPrograms } from "../../src/layer/LayerMounts.ts"
import { Layers } from "../../src/layer/Layers.ts"
import { Store } from "../../src/store/Store.ts"
import { findGroupBase, forgetOldBases } from "../../src/workspace/GroupBases.ts"
import { decider } from "../change/ChangePlace.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { protectedFolders } from "../../src/confinement/RunMounts.ts"
import { commitAll, git, place, type Place, repository } from "../workspace/Repository.ts"
import {
  canOverlay,
  layerChanges,
  nextTurn,
  type OpenLayer,
  openLayer,
  rowOf,
  runInLayer
} from "./LayerPlace.ts"

type Services = Layer.Success<ReturnType<typeof layerChanges>>

const means = [
  ["Overlays", mountPrograms(), canOverlay],
  ["Copies", undefined, true]
] as const

const newGroup = (): TaskGroupId => mint<TaskGroupId>("tgr", Date.now())
const LINES = Array.from({ length: 20 }, (_, at) => `line ${at + 1}\n`)
const withLine = (line: number, text: string): string => LINES.with(line - 1, `${text}\n`).join("")

const sample = ({ root }: Place): void => {
  repository(root)
  writeFileSync(join(root, ".gitignore"), "built/\n")
  writeFileSync(join(root, "code.txt"), LINES.join(""))
  mkdirSync(join(root, "folder"))
  writeFileSync(join(root, "folder/inner.txt"), "inner\n")
  symlinkSync("code.txt", join(root, "link"))
  commitAll(root)
  writeFileSync(join(root, "draft.txt"), "not committed\n")
}

/** What a person does between the starts of two candidates. */
const editByPerson = ({ root }: Place): void => {
  writeFileSync(join(root, "code.txt"), withLine(2, "of the person"))
  writeFileSync(join(root, "new.txt"), "new\n")
  rmSync(join(root, "folder"), { recursive: true })
  writeFileSync(join(root, "folder"), "a file now\n")
  rmSync(join(root, "link"))
  mkdirSync(join(root, "link"))
  writeFileSync(join(root, "link/deep.txt"), "deep\n")
  rmSync(join(root, "draft.txt"))
  mkdirSync(join(root, "built"))
  writeFileSync(join(root, "built/out.txt"), "out\n")
  commitAll(root)
}

const LOOK = "git rev-parse HEAD; cat code.txt folder/inner.txt draft.txt; readlink link; ls new.txt 2>&1"

const settle = ({ owner, run }: OpenLayer) => Effect.flatMap(Layers, (layers) => layers.settle(run.id, owner))

const changedPaths = ({ run }: OpenLayer) =>
  Effect.flatMap(Changes, (changes) =>
    Effect.map(changes.read(run.id, undefined, 50), ({ items }) => items.map(({ path }) => path))
  )

for (const [kind, programs, isPossible] of means)
  describe.skipIf(!canConfine || !isPossible)(`${kind} of one group`, () => {
    const inPlace = <E>(use: (at: Place) => Effect.Effect<void, E, Services>) =>
      Effect.gen(function* () {
        const at = yield* place
        sample(at)
        yield* Effect.provide(use(at), layerChanges(at, programs))
      }).pipe(Effect.scoped)

    it.effect("begin with the same files and the same commit", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const group = newGroup()
          const head = git(at.root, "rev-parse", "HEAD").trim()
          const first = yield* openLayer(at.root, true, group)
          const seen = yield* runInLayer(at, first, LOOK)
          assert.match(
            seen.stdout,
            new RegExp(`^${head}\nline 1\n[^]*inner\nnot committed\ncode.txt\n.*new.txt`)
          )
          editByPerson(at)
          const before = readFileSync(join(at.root, "code.txt"), "utf8")
          const second = yield* openLayer(at.root, true, group)
          assert.deepStrictEqual((yield* runInLayer(at, second, LOOK)).stdout, seen.stdout)
          yield* settle(second)
          assert.deepStrictEqual(yield* changedPaths(second), [], "edits of the person are no changes")
          assert.strictEqual(readFileSync(join(at.root, "code.txt"), "utf8"), before)
          const alone = yield* openLayer(at.root, true)
          assert.notStrictEqual((yield* runInLayer(at, alone, LOOK)).stdout, seen.stdout)
          const [one, other] = [yield* rowOf(first.owner), yield* rowOf(second.owner)]
          assert.deepStrictEqual([one.commit, other.commit], [head, head])
        })
      )
    )

    it.effect("protect the folders that only their base has", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const layers = yield* Layers
          mkdirSync(join(at.root, ".claude"))
          writeFileSync(join(at.root, ".claude/settings.json"), "{}\n")
          const group = newGroup()
          yield* openLayer(at.root, true, group)
          rmSync(join(at.root, ".claude"), { recursive: true })
          const second = yield* openLayer(at.root, true, group)
          const { look } = yield* layers.files(second.owner)
          assert.include(protectedFolders(look), join(look, ".claude"))
          const { stdout } = yield* runInLayer(at, second, "echo x > .claude/settings.json || echo protected")
          assert.strictEqual(stdout, "protected\n")
          yield* settle(second)
          assert.deepStrictEqual(yield* changedPaths(second), [])
        }).pipe(Effect.scoped)
      )
    )

    it.effect("have the person's edits in their next turn, and are accepted into them", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const group = newGroup()
          yield* openLayer(at.root, true, group)
          editByPerson(at)
          const second = yield* openLayer(at.root, true, group)
          yield* runInLayer(at, second, "sed -i '15s/.*/of the agent/' code.txt; echo x > added.txt")
          yield* settle(second)
          assert.deepStrictEqual(yield* changedPaths(second), ["added.txt", "code.txt"])
          const files = [fileIdOf(Buffer.from("added.txt"))]
          yield* changes.accept(second.run.id, { parts: { files } }, decider)
          const next = yield* nextTurn(second)
          const { stdout } = yield* runInLayer(
            at,
            next,
            "sed -n '2p;15p' code.txt; cat folder new.txt; ls draft.txt 2>&1"
          )
          assert.match(stdout, /^of the person\nof the agent\na file now\nnew\n.*draft.txt/)
          yield* settle(next)
          assert.deepStrictEqual(yield* changedPaths(next), ["code.txt"])
          const { set } = yield* changes.read(next.run.id, undefined, 1)
          yield* changes.accept(next.run.id, { parts: { all: true, version: set.version } }, decider)
          const expected = LINES.with(1, "of the person\n").with(14, "of the agent\n").join("")
          assert.strictEqual(readFileSync(join(at.root, "code.txt"), "utf8"), expected)
        })
      )
    )

    it.effect("begin with the base of the first one, if they start together", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const store = yield* Store
          const group = newGroup()
          const layers = yield* Effect.forEach([1, 2, 3, 4], () => openLayer(at.root, true, group), {
            concurrency: "unbounded"
          })
          const base = findGroupBase(store, { id: group, kind: "layer", root: at.root })
          assert.isDefined(base?.tree)
          for (const layer of layers) {
            yield* settle(layer)
            assert.deepStrictEqual(yield* changedPaths(layer), [])
          }
        })
      )
    )

    it.effect("cannot begin where a base is no longer there, and say so", () =>
      inPlace((at) =>
        Effect.gen(function* () {
          const store = yield* Store
          const group = newGroup()
          yield* openLayer(at.root, true, group)
          const lost = JSON.stringify({ tree: "0123456789012345678901234567890123456789" })
          yield* store.commit([["UPDATE group_bases SET base = ? WHERE group_id = ?", lost, group]])
          const failure = yield* Effect.flip(openLayer(at.root, true, group))
          assert.deepInclude(failure, { code: "internal", details: { reason: "layer_failed" } })
          assert.deepStrictEqual(yield* forgetOldBases(store, 86_400_000), [])
          assert.deepStrictEqual(yield* forgetOldBases(store, 31 * 86_400_000), [group])
          assert.isUndefined(findGroupBase(store, { id: group, kind: "layer", root: at.root }))
        })
      )
    )
  })
