/** Worktrees: made, used with an ordinary git, kept until they are removed, and never removed with work in them. */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { configLayer, newRunId, runOf } from "../Samples.ts"
import {
  commitAll,
  git,
  knownWorkspace,
  place,
  type Place,
  repository,
  sampleRepository
} from "./Repository.ts"

const workspace = "ws" as WorkspaceId

/** A new one on the same home is what a restart is. */
const servicesIn = ({ home }: Place, path = process.env.PATH ?? "") =>
  Worktrees.layer.pipe(
    Layer.provide(configLayer(home, { environment: { PATH: path } })),
    Layer.provideMerge(Store.layer(join(home, "edge.db")))
  )

const inRepository = <A, E>(use: (created: Place) => Effect.Effect<A, E, Worktrees | Store>) =>
  Effect.gen(function* () {
    const created = yield* place
    sampleRepository(created.root)
    return yield* Effect.provide(use(created), servicesIn(created))
  }).pipe(Effect.scoped)

const planned = Effect.fnUntraced(function* (runId: RunId, root: string) {
  const worktrees = yield* Worktrees
  const { row, start } = yield* worktrees.plan(runId, workspace, root)
  yield* (yield* Store).commit([row])
  return start
})

/** As a run's start makes it. */
const opened = Effect.fnUntraced(function* (runId: RunId, root: string) {
  const worktrees = yield* Worktrees
  yield* planned(runId, root)
  yield* worktrees.make(runId, {})
  return worktrees.pathOf(runId)
})

const nothing = { folders: [], branches: [] }

describe("Worktrees", () => {
  it.effect("are checked out on a branch of their own, beside the workspace, which is left alone", () =>
    inRepository(({ home, root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        writeFileSync(join(root, "staged"), "x\n")
        git(root, "add", "staged")
        const before = git(root, "status", "--porcelain=v1", "-b")
        const index = readFileSync(join(root, ".git/index"))
        const runId = newRunId()
        const path = yield* opened(runId, root)
        assert.strictEqual(path, realpathSync(join(home, "worktrees", runId)))
        assert.deepStrictEqual(readdirSync(path).toSorted(), [".git", ".gitignore", "a.txt"])
        assert.strictEqual(statSync(path).mode & 0o777, 0o700)
        assert.strictEqual(git(path, "status", "--porcelain=v1", "-b").trim(), `## corral/${runId}`)
        assert.deepStrictEqual(knownWorkspace(root), { folders: [], branches: [`corral/${runId}`] })
        assert.strictEqual(git(root, "status", "--porcelain=v1", "-b"), before)
        assert.deepStrictEqual(readFileSync(join(root, ".git/index")), index)
        const head = git(root, "rev-parse", "HEAD").trim()
        const expected = { runId, workspace, branch: `corral/${runId}`, base: head }
        const examined = yield* worktrees.get(runId)
        assert.deepInclude(examined, {
          ...expected,
          state: "kept",
          head,
          uncommitted: false,
          unmerged: false
        })
        assert.deepInclude(worktrees.list(undefined, 10)[0], { ...expected, state: "kept" })
        assert.notInclude(JSON.stringify([examined, worktrees.list(undefined, 10)]), home)
        yield* worktrees.remove(runId, false)
        assert.deepStrictEqual(knownWorkspace(root), nothing)
        assert.isFalse(existsSync(path))
        assert.deepStrictEqual(worktrees.list(undefined, 10), [])
        const removed = yield* worktrees.get(runId)
        assert.deepInclude(removed, { state: "removed", head, uncommitted: false })
        assert.notProperty(removed, "branch")
        yield* worktrees.remove(runId, false)
        yield* worktrees.forget(runId)
        assert.strictEqual((yield* Effect.flip(worktrees.get(runId))).code, "not_found")
      })
    )
  )

  it.effect("say what the checkout has that they do not", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        assert.notProperty(yield* planned(newRunId(), root), "leftOut")
        writeFileSync(join(root, "a.txt"), "2\n")
        writeFileSync(join(root, "staged"), "x\n")
        git(root, "add", "staged")
        mkdirSync(join(root, "folder"))
        writeFileSync(join(root, "folder/new"), "x\n")
        writeFileSync(join(root, "some.log"), "x\n")
        const runId = newRunId()
        const leftOut = { count: 3, paths: ["a.txt", "folder/", "staged"] }
        assert.deepInclude(yield* planned(runId, root), { leftOut })
        yield* worktrees.make(runId, {})
        assert.strictEqual(readFileSync(join(worktrees.pathOf(runId), "a.txt"), "utf8"), "1\n")
        assert.deepInclude(yield* worktrees.get(runId), { leftOut, uncommitted: false })
      })
    )
  )

  const works: ReadonlyArray<readonly [what: string, work: (path: string) => void]> = [
    ["a new file", (path) => writeFileSync(join(path, "new.txt"), "work\n")],
    ["an edited file", (path) => writeFileSync(join(path, "a.txt"), "work\n")],
    ["a deleted file", (path) => rmSync(join(path, "a.txt"))],
    ["a changed mode", (path) => chmodSync(join(path, "a.txt"), 0o755)],
    [
      "an edited file that git was told to overlook",
      (path) => {
        git(path, "update-index", "--assume-unchanged", "a.txt")
        writeFileSync(join(path, "a.txt"), "work\n")
      }
    ],
    [
      "what was staged and put back",
      (path) => {
        writeFileSync(join(path, "a.txt"), "work\n")
        git(path, "add", "a.txt")
        writeFileSync(join(path, "a.txt"), "1\n")
      }
    ],
    [
      "a commit of its branch",
      (path) => {
        writeFileSync(join(path, "a.txt"), "work\n")
        commitAll(path)
      }
    ],
    [
      "a commit that no branch has",
      (path) => {
        git(path, "checkout", "-q", "--detach")
        writeFileSync(join(path, "a.txt"), "work\n")
        commitAll(path)
      }
    ],
    [
      "a commit of its branch, which is not what is checked out",
      (path) => {
        writeFileSync(join(path, "a.txt"), "work\n")
        commitAll(path)
        git(path, "checkout", "-q", "--detach", "HEAD~1")
      }
    ]
  ]

  it.effect.each(works)("with %s go only by force, and it is under a ref then", ([, work]) =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const path = yield* opened(runId, root)
        work(path)
        const files = () =>
          readdirSync(path)
            .filter((name) => name !== ".git")
            .toSorted()
        const contents = files().map((name) => [name, readFileSync(join(path, name), "utf8")])
        const { uncommitted, unmerged } = yield* worktrees.get(runId)
        assert.isTrue(uncommitted || unmerged)
        const refusal = yield* Effect.flip(worktrees.remove(runId, false))
        assert.deepStrictEqual([refusal.code, refusal.details], ["conflict", { uncommitted, unmerged }])
        assert.isTrue(existsSync(path))
        yield* worktrees.remove(runId, true)
        assert.isFalse(existsSync(path))
        assert.deepStrictEqual(knownWorkspace(root), nothing)
        const ref = `refs/corral/${runId}`
        const removed = yield* worktrees.get(runId)
        assert.deepInclude(removed, { state: "removed", ref, uncommitted: false, unmerged: false })
        const names = git(root, "ls-tree", "--name-only", ref).trim().split("\n")
        assert.deepStrictEqual(
          names.map((name) => [name, git(root, "show", `${ref}:${name}`)]),
          contents
        )
        // Parents: where it was, its branches, and what was staged.
        const all = git(root, "log", "-p", "-m", "--format=", ref)
        assert.match(all, /\+work|deleted file|new mode/)
      })
    )
  )

  it.effect("go without force once their commits are merged, or with what is ignored", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const path = yield* opened(runId, root)
        writeFileSync(join(path, "a.txt"), "committed\n")
        commitAll(path)
        assert.isUndefined(yield* worktrees.handOver(runId))
        git(root, "merge", "-q", "--ff-only", `corral/${runId}`)
        writeFileSync(join(path, "build.log"), "x\n")
        mkdirSync(join(path, "fixed.log"))
        writeFileSync(join(path, "fixed.log/file"), "x\n")
        chmodSync(join(path, "fixed.log"), 0o555)
        yield* worktrees.remove(runId, false)
        assert.isFalse(existsSync(path))
        assert.deepStrictEqual(knownWorkspace(root), nothing)
      })
    )
  )

  it.effect("keep a branch that is checked out elsewhere", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const path = yield* opened(runId, root)
        git(path, "checkout", "-q", "--detach")
        git(root, "checkout", "-q", `corral/${runId}`)
        yield* worktrees.remove(runId, false)
        assert.deepInclude(yield* worktrees.get(runId), { state: "removed", branch: `corral/${runId}` })
        assert.strictEqual(git(root, "status", "--porcelain=v1", "-b").trim(), `## corral/${runId}`)
      })
    )
  )

  it.effect("are not removed, even by force, with what a commit cannot hold", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const path = yield* opened(runId, root)
        mkdirSync(join(path, "cloned"))
        repository(join(path, "cloned"))
        writeFileSync(join(path, "cloned/file"), "work\n")
        assert.deepInclude(yield* worktrees.get(runId), { uncommitted: true })
        assert.strictEqual((yield* Effect.flip(worktrees.remove(runId, true))).code, "conflict")
        assert.strictEqual(readFileSync(join(path, "cloned/file"), "utf8"), "work\n")
        assert.deepInclude(yield* worktrees.get(runId), { state: "kept" })
      })
    )
  )

  it.effect("stay where the repository is gone, and nothing of them is lost", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const path = yield* opened(runId, root)
        rmSync(join(root, ".git"), { recursive: true })
        assert.deepInclude(yield* worktrees.get(runId), { state: "kept", uncommitted: true, unmerged: true })
        assert.strictEqual((yield* Effect.flip(worktrees.remove(runId, true))).code, "conflict")
        assert.strictEqual(readFileSync(join(path, "a.txt"), "utf8"), "1\n")
      })
    )
  )

  it.effect("may be removed by hand: what git knows of them goes later", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        rmSync(yield* opened(runId, root), { recursive: true })
        assert.deepInclude(yield* worktrees.get(runId), { state: "removed" })
        yield* worktrees.remove(runId, false)
        assert.deepStrictEqual(knownWorkspace(root), nothing)
      })
    )
  )

  it.effect("are neither removed nor entered under a run that lives in them", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        yield* opened(runId, root)
        const entered = yield* Effect.scoped(worktrees.enter(runId))
        assert.deepInclude(entered, { runId, branch: `corral/${runId}` })
        // Another run is about to enter.
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* worktrees.enter(runId)
            assert.strictEqual((yield* Effect.flip(worktrees.remove(runId, true))).code, "conflict")
            const second = yield* Effect.flip(worktrees.enter(runId))
            assert.strictEqual(second.code, "schema_validation_failed")
          })
        )
        const resumer = runOf(newRunId(), { state: "running", worktree: runId })
        yield* (yield* Store).commit([insertRun(resumer)])
        assert.deepInclude(yield* worktrees.get(runId), { state: "active" })
        assert.strictEqual((yield* Effect.flip(worktrees.remove(runId, true))).code, "conflict")
        const second = yield* Effect.flip(Effect.scoped(worktrees.enter(runId)))
        assert.strictEqual(second.details?.issues[0]?.path, "resume")
      })
    )
  )

  it.effect("of many runs in one repository do not meet", () =>
    inRepository(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const ids = Array.from({ length: 5 }, newRunId)
        const life = (runId: RunId) =>
          Effect.gen(function* () {
            const path = yield* opened(runId, root)
            writeFileSync(join(path, "a.txt"), `${runId}\n`)
            assert.deepInclude(yield* worktrees.get(runId), { uncommitted: true, unmerged: false })
            yield* worktrees.remove(runId, true)
          })
        yield* Effect.forEach(ids, life, { concurrency: "unbounded" })
        assert.deepStrictEqual(knownWorkspace(root), nothing)
        for (const runId of ids) {
          assert.strictEqual(git(root, "show", `refs/corral/${runId}:a.txt`), `${runId}\n`)
        }
      })
    )
  )

  it.effect("that were being made or removed when the Edge died are gone after its start", () =>
    Effect.gen(function* () {
      const created = yield* place
      const { home, root } = created
      sampleRepository(root)
      const [unmade, half, stored, going] = [newRunId(), newRunId(), newRunId(), newRunId()]
      yield* Effect.gen(function* () {
        const store = yield* Store
        yield* planned(unmade, root)
        for (const runId of [half, stored, going]) yield* opened(runId, root)
        const send = (runId: RunId, state: string) =>
          store.commit([
            [
              "UPDATE worktrees SET state = ?, worktree = json_set(worktree, '$.state', ?) WHERE run_id = ?",
              state,
              state,
              runId
            ]
          ])
        // Dead before it was recorded as made; dead in the middle of the removal.
        yield* send(half, "making")
        yield* send(going, "removing")
        rmSync(join(home, "worktrees", going, "a.txt"))
      }).pipe(Effect.provide(servicesIn(created)), Effect.scoped)
      yield* Effect.gen(function* () {
        const worktrees = yield* Worktrees
        yield* worktrees.recover(new Set())
        assert.deepStrictEqual(knownWorkspace(root), {
          folders: [],
          branches: [`corral/${stored}`]
        })
        const parts = [stored, `${stored}.git`, `${stored}.received`]
        assert.deepStrictEqual(readdirSync(join(home, "worktrees")).toSorted(), parts)
        assert.deepStrictEqual(
          worktrees.list(undefined, 10).map(({ runId }) => runId),
          [stored]
        )
        for (const runId of [unmade, half])
          assert.strictEqual((yield* Effect.flip(worktrees.get(runId))).code, "not_found")
        assert.deepInclude(yield* worktrees.get(going), { state: "removed" })
      }).pipe(Effect.provide(servicesIn(created)), Effect.scoped)
    }).pipe(Effect.scoped)
  )

  it.effect("are refused without a repository, a commit or git, and inside the workspace", () =>
    Effect.gen(function* () {
      const created = yield* place
      const issue = (root: string) =>
        Effect.gen(function* () {
          const failure = yield* Effect.flip((yield* Worktrees).plan(newRunId(), workspace, root))
          if (failure._tag !== "SchemaValidationFailed") return assert.fail(failure.message)
          assert.strictEqual(failure.details?.issues[0]?.path, "isolation")
          assert.notInclude(JSON.stringify(failure), root)
          return failure.details?.issues[0]?.message ?? ""
        })
      yield* Effect.gen(function* () {
        assert.match(yield* issue(created.root), /git repository/)
        repository(created.root)
        assert.match(yield* issue(created.root), /no commit/)
        commitAll(created.root)
        const around = join(created.home, "..")
        sampleRepository(around)
        assert.match(yield* issue(realpathSync(around)), /Edge's own folder/)
      }).pipe(Effect.provide(servicesIn(created)), Effect.scoped)
      const without = servicesIn(created, "/nowhere")
      assert.match(yield* issue(created.root).pipe(Effect.provide(without), Effect.scoped), /not installed/)
    }).pipe(Effect.scoped)
  )
})
