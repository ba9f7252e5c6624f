/** Refs of runs in worktrees, while another run works in the workspace itself: what the Edge writes does not count, and everything else does. */
import { assert, describe, it } from "@effect/vitest"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Effect, Layer } from "effect"
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { RepositoryRecord } from "../../src/confinement/RepositoryRecord.ts"
import { RepositoryWatch } from "../../src/confinement/RepositoryWatch.ts"
import { Store } from "../../src/store/Store.ts"
import { EdgeRefs } from "../../src/workspace/EdgeRefs.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { configLayer, newRunId, runIdOf } from "../Samples.ts"
import { commitAll, git, place, type Place, sampleRepository } from "../workspace/Repository.ts"

const inRepository = <A, E>(use: (created: Place) => Effect.Effect<A, E, Worktrees | Store>) =>
  Effect.gen(function* () {
    const created = yield* place
    sampleRepository(created.root)
    const services = Worktrees.layer.pipe(
      Layer.provide(configLayer(created.home, { environment: { PATH: process.env.PATH ?? "" } })),
      Layer.provideMerge(Store.layerMemory)
    )
    return yield* Effect.provide(use(created), services)
  }).pipe(Effect.scoped)

const watching = ({ home, root }: Place) =>
  new RepositoryWatch(root, new RepositoryRecord(home, runIdOf(1)), new EdgeRefs(home))

const opened = Effect.fnUntraced(function* (root: string) {
  const worktrees = yield* Worktrees
  const runId = newRunId()
  const { row } = yield* worktrees.plan(runId, "ws" as WorkspaceId, root)
  yield* (yield* Store).commit([row])
  yield* worktrees.make(runId, {})
  return runId
})

const committed = Effect.fnUntraced(function* (runId: RunId, name: string) {
  const worktrees = yield* Worktrees
  writeFileSync(join(worktrees.pathOf(runId), name), "x\n")
  commitAll(worktrees.pathOf(runId))
  assert.isUndefined(yield* worktrees.handOver(runId))
})

const refsOf = (root: string): ReadonlyArray<string> =>
  git(root, "for-each-ref", "--format=%(refname)").trim().split("\n")

/** One run keeps what it handed over, one starts, and one is removed with its work. */
const withRuns = <A, E>(
  use: (created: Place & { readonly runs: ReadonlyArray<RunId> }) => Effect.Effect<A, E, Worktrees | Store>
) =>
  inRepository((created) =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const { root } = created
      const runs = [yield* opened(root), yield* opened(root), yield* opened(root)]
      for (const run of runs.slice(1)) yield* committed(run, "one")
      writeFileSync(join(worktrees.pathOf(runs[2] ?? newRunId()), "unsaved"), "x\n")
      yield* worktrees.remove(runs[2] ?? newRunId(), true)
      return yield* use({ ...created, runs })
    })
  )

describe("Refs of the Edge", () => {
  it.effect("do not count when the Edge makes, moves and removes them", () =>
    inRepository((created) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const earlier = yield* opened(created.root)
        const watch = watching(created)
        watch.start()
        const assertSilent = () => assert.isUndefined(watch.compare(false))
        yield* committed(earlier, "one")
        assertSilent()
        const run = yield* opened(created.root)
        assertSilent()
        yield* committed(run, "one")
        yield* committed(run, "two")
        const next = watching(created)
        next.restore(JSON.parse(JSON.stringify(watch.state)) as typeof watch.state)
        assert.isUndefined(next.compare(false), "the next Edge")
        assertSilent()
        writeFileSync(join(worktrees.pathOf(run), "unsaved"), "x\n")
        yield* worktrees.remove(run, true)
        yield* worktrees.remove(earlier, true)
        assertSilent()
        assert.isUndefined(watch.compare(true))
        yield* worktrees.forget(run)
        assert.isUndefined(watch.compare(true))
      })
    )
  )

  it.effect("count when the Edge's git has failed, and something else is there", () =>
    inRepository((created) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const run = yield* opened(created.root)
        const watch = watching(created)
        watch.start()
        const branch = `refs/heads/corral/${run}`
        const evil = git(created.root, "commit-tree", "-m", "evil", "HEAD^{tree}").trim()
        git(created.root, "update-ref", branch, evil)
        writeFileSync(join(worktrees.pathOf(run), "one"), "x\n")
        commitAll(worktrees.pathOf(run))
        yield* worktrees.handOver(run)
        assert.deepStrictEqual(
          watch.compare(false)?.refs.map(({ name, to }) => [name, to]),
          [[branch, evil]]
        )
      })
    )
  )

  const changes: Readonly<Record<string, (root: string, name: string, evil: string) => unknown>> = {
    moved: (root, name, evil) => git(root, "update-ref", name, evil),
    deleted: (root, name) => git(root, "update-ref", "-d", name),
    "moved and packed": (root, name, evil) => {
      git(root, "update-ref", name, evil)
      git(root, "pack-refs", "--all", "--prune")
    },
    symbolic: (root, name) => git(root, "symbolic-ref", name, "refs/heads/main")
  }

  it.effect("are reported and put back if a run in place changes one of them", () =>
    withRuns((created) =>
      Effect.gen(function* () {
        const { root } = created
        const evil = git(root, "commit-tree", "-m", "evil", "HEAD^{tree}").trim()
        const names = refsOf(root).filter((name) => name.includes("corral/"))
        assert.isAtLeast(names.length, 5)
        const before = git(root, "show-ref")
        for (const [at, name] of names.entries()) {
          const [what = "", change] = Object.entries(changes)[at % Object.keys(changes).length] ?? []
          const watch = watching(created)
          watch.start()
          change?.(root, name, evil)
          const found = watch.compare(false)?.refs.map((ref) => ref.name)
          assert.deepStrictEqual(found, [name], `${name} ${what}`)
          assert.isUndefined(watch.compare(false), "once")
          yield* new RepositoryRecord(created.home, runIdOf(1)).restore("git")
          assert.strictEqual(git(root, "show-ref"), before)
        }
      })
    )
  )

  it.effect("are reported if a run in place moves them back, or makes some", () =>
    inRepository((created) =>
      Effect.gen(function* () {
        const { home, root } = created
        const run = yield* opened(root)
        const watch = watching(created)
        watch.start()
        const branch = `refs/heads/corral/${run}`
        const base = git(root, "rev-parse", branch).trim()
        yield* committed(run, "one")
        const handed = git(root, "rev-parse", branch).trim()
        git(root, "update-ref", branch, base)
        assert.deepStrictEqual(watch.compare(false)?.refs, [{ name: branch, from: handed, to: base }])
        const names = [
          `${branch}-2`,
          "refs/heads/corral/x",
          "refs/corral/x",
          `refs/corral/keep/${newRunId()}`,
          `refs/corral/${run}`
        ].toSorted()
        for (const name of names) git(root, "update-ref", name, "HEAD")
        assert.deepStrictEqual(
          watch.compare(false)?.refs.map(({ name }) => name),
          names
        )
        assert.strictEqual(new EdgeRefs(home).of(join(home, ".git")).size, 0, "another repository has none")
      })
    )
  )

  it.effect("are not written through a link that a run in place has put in the place of a reflog", () =>
    inRepository((created) =>
      Effect.gen(function* () {
        const { home, root } = created
        const worktrees = yield* Worktrees
        const run = yield* opened(root)
        const outside = join(home, "..", "outside")
        const names = `logs/refs/heads/corral/${run}`.split("/")
        for (const end of names.keys()) {
          rmSync(join(root, ".git/logs"), { recursive: true, force: true })
          rmSync(outside, { recursive: true, force: true })
          const rest = names.slice(end + 1)
          const target = join(outside, ...rest)
          mkdirSync(join(target, ".."), { recursive: true })
          writeFileSync(target, "")
          const link = join(root, ".git", ...names.slice(0, end + 1))
          mkdirSync(join(link, ".."), { recursive: true })
          symlinkSync(outside, link)
          writeFileSync(join(worktrees.pathOf(run), "one"), `${end}\n`)
          commitAll(worktrees.pathOf(run))
          assert.isDefined(yield* worktrees.handOver(run), link)
          assert.strictEqual(readFileSync(target, "utf8"), "")
        }
        rmSync(join(root, ".git/logs"), { recursive: true, force: true })
        assert.isUndefined(yield* worktrees.handOver(run))
      })
    )
  )
})
