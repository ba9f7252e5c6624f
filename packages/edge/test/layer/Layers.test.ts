import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findSet } from "../../src/change/ChangeRows.ts"
import type { ChangeSource } from "../../src/change/ChangeSource.ts"
import { mountPrograms, type MountPrograms } from "../../src/layer/LayerMounts.ts"
import { Layers } from "../../src/layer/Layers.ts"
import type { Confinement } from "../../src/confinement/Confinement.ts"
import { Store } from "../../src/store/Store.ts"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import { writeProgram } from "../Folder.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { commitAll, copied, git, place, type Place, repository } from "../workspace/Repository.ts"
import {
  canOverlay,
  layerServices,
  nextTurn,
  type OpenLayer,
  openLayer,
  rowOf,
  runInLayer
} from "./LayerPlace.ts"

/** Everything in the workspace, without the refs that the Edge writes. */
const contents = (root: string) =>
  folderContents(root, root, (path) => path === join(root, ".git", "refs/corral") || path.endsWith("/logs"))

/** Files of every kind, some of them ignored, one not committed. */
const sampleWorkspace = copied((root) => {
  repository(root)
  writeFileSync(join(root, ".gitignore"), "ignored/\n")
  writeFileSync(join(root, "a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
  writeFileSync(join(root, "gone.txt"), "gone\n")
  mkdirSync(join(root, "folder/deep"), { recursive: true })
  writeFileSync(join(root, "folder/deep/b.txt"), "b\n")
  writeFileSync(join(root, "program.sh"), "#!/bin/sh\n")
  chmodSync(join(root, "program.sh"), 0o755)
  symlinkSync("a.txt", join(root, "link"))
  commitAll(root)
  mkdirSync(join(root, "ignored"))
  writeFileSync(join(root, "ignored/module.js"), "module\n")
  writeFileSync(join(root, "uncommitted.txt"), "uncommitted\n")
})

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

const sourceOf = ({ run }: Pick<OpenLayer, "run">) =>
  Effect.flatMap(Layers, (layers) =>
    Effect.map(layers.sourceOf(run), (source) => {
      if (source === undefined) throw new Error("the run has no layer")
      return source
    })
  )

/** The base that the set has now. */
const baseOf = ({ base, setId }: ChangeSource) =>
  Effect.flatMap(Store, (store) => {
    const moved = findSet(store, setId)?.base
    return moved === undefined ? base : Effect.succeed({ tree: moved, leftOut: [] })
  })

/** Paths that the set of the layer has. */
const changedPaths = Effect.fnUntraced(function* ({ run }: Pick<OpenLayer, "run">) {
  const source = yield* sourceOf({ run })
  const [{ tree: base }, { tree: result }] = [yield* baseOf(source), yield* source.result]
  const args = ["diff-tree", "-r", "--name-status", "--no-renames", base, result]
  return lines((yield* source.shadow.run(args)).bytes.toString("utf8"))
})

const settle = ({ owner, run }: OpenLayer) => Effect.flatMap(Layers, (layers) => layers.settle(run.id, owner))

const CHANGES =
  "set -e; cat ignored/module.js uncommitted.txt; echo new > new.txt; sed -i s/two/TWO/ a.txt; rm gone.txt; " +
  "rm -r folder; mkdir folder; echo c > folder/c.txt; chmod -x program.sh; ln -sfn b.txt link; echo more > ignored/more.js"
const CHANGED = [
  "M\ta.txt",
  "A\tfolder/c.txt",
  "D\tfolder/deep/b.txt",
  "D\tgone.txt",
  "M\tlink",
  "A\tnew.txt",
  "M\tprogram.sh"
]

const READERS = 16

const inPlace = <E>(
  programs: MountPrograms | undefined,
  body: (at: Place) => Effect.Effect<void, E, Layers | Store | Confinement>
) =>
  Effect.gen(function* () {
    const at = yield* place
    sampleWorkspace(at.root)
    yield* Effect.provide(body(at), layerServices(at, programs))
  }).pipe(Effect.scoped)

/** Programs of a machine whose kernel mounts no overlays. */
const withoutOverlays = (): MountPrograms | undefined => {
  const programs = mountPrograms()
  if (programs === undefined) return undefined
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-mount-")))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const script = `case "$*" in *overlay*) exit 1;; esac\nexec ${programs.mount} "$@"`
  return { ...programs, mount: writeProgram(join(folder, "mount"), script) }
}

const kinds: ReadonlyArray<readonly [string, MountPrograms | undefined, boolean]> = [
  ["overlay", mountPrograms(), canOverlay],
  ["copy", withoutOverlays(), true],
  ["copy without mounts", undefined, true]
]

for (const [kind, programs, isPossible] of kinds)
  describe.skipIf(!canConfine || !isPossible)(`A layer made by ${kind}`, () => {
    it.effect("shows the workspace as it is, and takes what a run writes", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const before = contents(at.root)
          const layer = yield* openLayer(at.root)
          const { stderr, stdout } = yield* runInLayer(at, layer, CHANGES)
          assert.deepStrictEqual([stdout, stderr], ["module\nuncommitted\n", ""])
          const summary = yield* settle(layer)
          assert.deepInclude(summary, { files: 7 })
          assert.deepStrictEqual(yield* changedPaths(layer), CHANGED)
          assert.deepStrictEqual(contents(at.root), before)
          assert.strictEqual((yield* rowOf(layer.owner)).means === "overlayfs", kind === "overlay")
        })
      )
    )

    it.effect("is the same in the next turn, with what the last one wrote and ignored", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const first = yield* openLayer(at.root)
          yield* runInLayer(at, first, CHANGES)
          yield* settle(first)
          const second = yield* nextTurn(first)
          const { stdout } = yield* runInLayer(
            at,
            second,
            "cat new.txt ignored/more.js; ls folder; test -e gone.txt || echo gone; echo again > again.txt"
          )
          assert.strictEqual(stdout, "new\nmore\nc.txt\ngone\n")
          assert.deepInclude(yield* settle(second), { files: 1 })
          assert.deepStrictEqual(yield* changedPaths(second), [
            "M\ta.txt",
            "A\tagain.txt",
            ...CHANGED.slice(1)
          ])
        })
      )
    )

    it.effect("merges the person's edits before each turn, and marks conflicts", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const first = yield* openLayer(at.root)
          yield* runInLayer(
            at,
            first,
            "sed -i s/two/TWO/ a.txt; echo mine > uncommitted.txt; chmod u+w gone.txt"
          )
          yield* settle(first)
          writeFileSync(
            join(at.root, "a.txt"),
            readFileSync(join(at.root, "a.txt"), "utf8").replace("six", "SIX")
          )
          writeFileSync(join(at.root, "uncommitted.txt"), "theirs\n")
          writeFileSync(join(at.root, "added.txt"), "added\n")
          rmSync(join(at.root, "gone.txt"))
          const second = yield* nextTurn(first)
          const { stdout } = yield* runInLayer(
            at,
            second,
            "cat a.txt added.txt uncommitted.txt; ls gone.txt 2>&1"
          )
          assert.include(stdout, "one\nTWO\nthree\nfour\nfive\nSIX\nseven\nadded\nmine\n")
          assert.include(stdout, "No such file")
          yield* settle(second)
          assert.deepStrictEqual(yield* changedPaths(second), ["M\ta.txt", "M\tuncommitted.txt"])
          const source = yield* sourceOf(second)
          assert.deepStrictEqual(findSet(yield* Store, source.setId)?.conflicts, ["uncommitted.txt"])
          const { tree: base } = yield* baseOf(source)
          const { bytes } = yield* source.shadow.run(["cat-file", "blob", `${base}:uncommitted.txt`])
          assert.strictEqual(bytes.toString(), "uncommitted\n", "the conflict has its earlier base")
          assert.strictEqual(readFileSync(join(at.root, "uncommitted.txt"), "utf8"), "theirs\n")
        })
      )
    )

    it.effect("has no edit of the person among the changes of a run", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const layer = yield* openLayer(at.root)
          writeFileSync(join(at.root, "gone.txt"), "edited meanwhile\n")
          writeFileSync(join(at.root, "meanwhile.txt"), "new\n")
          rmSync(join(at.root, "link"))
          yield* runInLayer(at, layer, "echo x > x.txt")
          yield* settle(layer)
          assert.deepStrictEqual(yield* changedPaths(layer), ["A\tx.txt"])
        })
      )
    )

    it.effect("has its own repository, whose commits get a ref", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const layers = yield* Layers
          const state = () => [
            git(at.root, "for-each-ref", "refs/heads", "refs/tags"),
            git(at.root, "status", "--porcelain"),
            git(at.root, "ls-files", "--stage"),
            readFileSync(join(at.root, ".git/HEAD"), "utf8"),
            readFileSync(join(at.root, ".git/config"), "utf8")
          ]
          const before = state()
          const layer = yield* openLayer(at.root)
          const { status, stderr } = yield* runInLayer(
            at,
            layer,
            "set -e; git status --porcelain; git log -1; echo n > n.txt; git add n.txt; git commit -qm mine; git branch other; git gc -q"
          )
          assert.strictEqual(status, 0, stderr)
          yield* settle(layer)
          yield* layers.close(layer.owner)
          assert.isUndefined(yield* layers.handOver(layer.owner))
          assert.deepStrictEqual(state(), before)
          assert.strictEqual(git(at.root, "log", "-1", "--format=%s", `refs/corral/${layer.owner}`), "mine\n")
          const source = yield* sourceOf(layer)
          assert.deepStrictEqual(
            (yield* source.commits).map(({ subject }) => subject),
            ["mine"]
          )
          assert.deepStrictEqual(yield* changedPaths(layer), ["A\tn.txt"])
        })
      )
    )

    it.effect("has the branch of its repository in the next turn, with and without a commit", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const first = yield* openLayer(at.root)
          const script = "git symbolic-ref --short HEAD; git log --format=%s; git status --porcelain"
          const { stdout } = yield* runInLayer(at, first, script)
          assert.strictEqual(stdout, `corral/${first.owner}\nas it is\n?? uncommitted.txt\n`)
          yield* settle(first)
          commitAll(at.root)
          const second = yield* nextTurn(first)
          assert.deepInclude(yield* runInLayer(at, second, script), { stdout, stderr: "" })
          yield* runInLayer(at, second, "git commit -q --allow-empty -m mine")
          yield* settle(second)
          const third = yield* nextTurn(second)
          const { stdout: later } = yield* runInLayer(at, third, script)
          assert.strictEqual(later, stdout.replace("as it is", "mine\nas it is"))
        })
      )
    )

    it.effect("is removed by force if something is undecided, and leaves nothing", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const layers = yield* Layers
          const layer = yield* openLayer(at.root)
          yield* runInLayer(at, layer, "echo x > x.txt; mkdir closed; touch closed/y; chmod 0 closed")
          yield* settle(layer)
          assert.lengthOf(layers.list(undefined, 10), 1)
          yield* layers.forget(layer.owner)
          assert.isTrue(layers.has(layer.owner), "retention leaves it")
          const refusal = yield* Effect.flip(layers.remove(layer.owner, false))
          assert.strictEqual(refusal.code, "conflict")
          yield* layers.remove(layer.owner, true)
          assert.isFalse(existsSync(join(at.home, "layers", layer.owner)))
          assert.deepStrictEqual(layers.list(undefined, 10), [])
          assert.isFalse(layers.has(layer.owner))
          assert.strictEqual(git(at.root, "for-each-ref", "refs/corral"), "")
        })
      )
    )

    it.effect("takes a result that a crash prevented", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const first = yield* openLayer(at.root)
          yield* runInLayer(at, first, "echo x > x.txt")
          yield* settle(first)
          const second = yield* nextTurn(first)
          yield* runInLayer(at, second, "echo y > y.txt")
          const third = yield* nextTurn(second)
          assert.deepStrictEqual(yield* changedPaths(third), ["A\tx.txt", "A\ty.txt"])
        })
      )
    )

    it.live("is read by several readers at once, which do not make its result due", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const layer = yield* openLayer(at.root)
          yield* runInLayer(at, layer, "echo x > x.txt; echo later > later.txt")
          yield* settle(layer)
          const { captured } = yield* rowOf(layer.owner)
          assert.strictEqual(captured, layer.run.id)
          const source = yield* sourceOf(layer)
          const barrier = yield* Latch.make()
          let readers = 0
          const read = source.withFiles((top) =>
            Effect.gen(function* () {
              if (++readers === READERS) yield* barrier.open
              yield* barrier.await
              return readFileSync(join(top, "x.txt"), "utf8")
            })
          )
          const found = yield* Effect.replicateEffect(read, READERS, { concurrency: "unbounded" })
          assert.deepStrictEqual(
            found,
            Array.from({ length: READERS }, () => "x\n")
          )
          assert.strictEqual((yield* rowOf(layer.owner)).captured, captured)
          yield* source.withView((top) => Effect.sync(() => rmSync(join(top, "later.txt"))))
          const states = Effect.gen(function* () {
            const { base, result } = yield* sourceOf(layer)
            const found = yield* Effect.all([base, result], { concurrency: 2 })
            return found.map(({ tree }) => tree)
          })
          const several = yield* Effect.replicateEffect(states, READERS, { concurrency: "unbounded" })
          assert.strictEqual(new Set(several.map(String)).size, 1)
          assert.deepStrictEqual(yield* changedPaths(layer), ["A\tx.txt"])
        })
      )
    )

    it.effect("is written and taken again for a rejection", () =>
      inPlace(programs, (at) =>
        Effect.gen(function* () {
          const layer = yield* openLayer(at.root)
          yield* runInLayer(at, layer, "echo x > x.txt; echo y > y.txt; rm gone.txt")
          yield* settle(layer)
          const source = yield* sourceOf(layer)
          yield* source.withView((top) =>
            Effect.sync(() => {
              rmSync(join(top, "x.txt"))
              writeFileSync(join(top, "gone.txt"), "gone\n")
            })
          )
          assert.deepStrictEqual(yield* changedPaths(layer), ["A\ty.txt"])
          assert.isTrue(lstatSync(join(at.root, "gone.txt")).isFile())
        })
      )
    )
  })

describe("A workspace that is not a repository", () => {
  it.effect.skipIf(!canConfine)("has layers, too", () =>
    Effect.gen(function* () {
      const at = yield* place
      writeFileSync(join(at.root, "a.txt"), "a\n")
      yield* Effect.gen(function* () {
        const layer = yield* openLayer(at.root)
        const { status } = yield* runInLayer(
          at,
          layer,
          "git init -q; echo b > b.txt; git add b.txt; git commit -qm b"
        )
        assert.strictEqual(status, 0)
        yield* settle(layer)
        assert.deepStrictEqual(yield* changedPaths(layer), ["A\tb.txt"])
        assert.deepStrictEqual(execFileSync("ls", ["-A"], { cwd: at.root, encoding: "utf8" }), "a.txt\n")
      }).pipe(Effect.provide(layerServices(at, mountPrograms())))
    }).pipe(Effect.scoped)
  )
})
