/** The repository of a run in a worktree: what it takes from the workspace's, and how commits come back. */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { Store } from "../../src/store/Store.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { configLayer, newRunId } from "../Samples.ts"
import { commitAll, git, place, type Place } from "./Repository.ts"
import { openedWorktree, ownedRepository } from "./RunInWorktree.ts"

const run = promisify(execFile)

const servicesIn = ({ home }: Place) =>
  Worktrees.layer.pipe(
    Layer.provide(configLayer(home, { environment: { PATH: process.env.PATH ?? "" } })),
    Layer.provideMerge(Store.layerMemory)
  )

const inPlace = <A, E>(
  use: (created: Place) => Effect.Effect<A, E, Worktrees | Store>,
  prepare: (created: Place) => void = ({ root }) => ownedRepository(root)
) =>
  Effect.gen(function* () {
    const created = yield* place
    prepare(created)
    return yield* Effect.provide(use(created), servicesIn(created))
  }).pipe(Effect.scoped)

const commitIn = (path: string, text: string): string => {
  writeFileSync(join(path, "a.txt"), `${text}\n`)
  commitAll(path)
  return git(path, "rev-parse", "HEAD").trim()
}

const tipOf = (root: string, branch: string): string => git(root, "rev-parse", branch).trim()
const isSound = (root: string): boolean => spawnSync("git", ["fsck", "--full"], { cwd: root }).status === 0

const branchesOf = (root: string, runId: RunId): ReadonlyArray<string> =>
  git(root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/corral")
    .trim()
    .split("\n")
    .map((name) => name.replace(runId, "run"))

describe("The repository of a run", () => {
  it.effect(
    "has the workspace's refs, objects, remotes and author, and none of its credentials or programs",
    () =>
      inPlace(({ root }) =>
        Effect.gen(function* () {
          const settings: ReadonlyArray<readonly [string, string]> = [
            ["user.name", 'A "B" \\C'],
            ["remote.origin.url", "https://user:secret-token@example.com/a.git"],
            ["remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"],
            ["remote.evil.url", "ext::touch ran"],
            ["branch.main.remote", "origin"],
            ["filter.lfs.clean", "git-lfs clean -- %f"],
            ["filter.other.clean", "evil"],
            ["core.sshCommand", "evil"],
            ["credential.helper", "store"],
            ["http.https://example.com.extraheader", "secret-token"]
          ]
          for (const [key, value] of settings) git(root, "config", key, value)
          const { path } = yield* openedWorktree(root)
          const listed = git(path, "config", "--local", "--list")
          assert.include(listed, 'user.name=A "B" \\C\n')
          assert.include(listed, "remote.origin.url=https://example.com/a.git\n")
          assert.include(listed, "filter.lfs.clean=git-lfs clean -- %f\n")
          assert.notMatch(listed, /secret|evil|credential/)
          const names = (folder: string) =>
            git(
              folder,
              "for-each-ref",
              "--format=%(objectname) %(refname)",
              "refs/heads/main",
              "refs/heads/feature",
              "refs/tags",
              "refs/remotes"
            )
          assert.strictEqual(names(path), names(root))
          assert.strictEqual(git(path, "log", "--format=%H"), git(root, "log", "--format=%H", "main"))
        })
      )
  )

  it.effect("has its branch in a further turn, whether or not it has committed", () =>
    inPlace(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const { path, runId } = yield* openedWorktree(root)
        const base = tipOf(root, "main")
        commitIn(root, "by the owner")
        for (const tip of [() => base, () => base, () => commitIn(path, "by the run")]) {
          const expected = tip()
          yield* worktrees.refresh(runId)
          assert.strictEqual(tipOf(path, "HEAD"), expected)
        }
        assert.strictEqual(git(path, "symbolic-ref", "--short", "HEAD"), `corral/${runId}\n`)
      })
    )
  )

  it.effect("hands over commits at the end of a turn, and never rewrites what it handed over", () =>
    inPlace(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const { path, runId } = yield* openedWorktree(root)
        const branch = `corral/${runId}`
        const first = commitIn(path, "one")
        assert.strictEqual(tipOf(root, branch), tipOf(root, "main"))
        assert.deepStrictEqual(
          (yield* worktrees.commits(runId, 10)).map(({ id, subject }) => [id, subject]),
          [[first, "as it is"]]
        )
        assert.strictEqual(
          tipOf(root, branch),
          tipOf(root, "main"),
          "a look at the commits hands over nothing"
        )
        assert.isUndefined(yield* worktrees.handOver(runId))
        assert.strictEqual(tipOf(root, branch), first)
        const second = commitIn(path, "two")
        assert.isUndefined(yield* worktrees.handOver(runId))
        assert.strictEqual(tipOf(root, branch), second)
        git(path, "reset", "-q", "--hard", first)
        assert.isUndefined(yield* worktrees.handOver(runId))
        assert.strictEqual(tipOf(root, branch), second, "a branch only moves forward")
        const other = commitIn(path, "instead of two")
        assert.isUndefined(yield* worktrees.handOver(runId))
        assert.deepStrictEqual([tipOf(root, branch), tipOf(root, `${branch}-2`)], [second, other])
        assert.deepInclude(yield* worktrees.get(runId), { branch: `${branch}-2` })
        git(root, "checkout", "-q", `${branch}-2`)
        const third = commitIn(path, "three")
        assert.isUndefined(yield* worktrees.handOver(runId))
        assert.deepStrictEqual(branchesOf(root, runId), ["run", "run-2", "run-3"])
        assert.strictEqual(tipOf(root, `${branch}-3`), third)
        assert.strictEqual(git(root, "status", "--porcelain"), "", "what is checked out does not move")
        assert.isTrue(isSound(root))
        git(root, "checkout", "-q", "main")
        yield* worktrees.remove(runId, true)
        assert.strictEqual(git(root, "for-each-ref", "refs/heads/corral", "refs/corral/keep"), "")
        git(root, "cat-file", "-e", `refs/corral/${runId}^{commit}`)
      })
    )
  )

  it.effect(
    "receives the refs of the workspace before a further turn, and keeps what the run has changed",
    () =>
      inPlace(({ root }) =>
        Effect.gen(function* () {
          const worktrees = yield* Worktrees
          const { path, runId } = yield* openedWorktree(root)
          git(path, "branch", "of-the-run")
          git(path, "branch", "-f", "feature", "main~1")
          git(path, "pack-refs", "--all")
          git(root, "branch", "newer")
          git(root, "tag", "-d", "v1")
          const moved = commitIn(root, "by the owner")
          yield* worktrees.refresh(runId)
          const refs = new Map(
            git(path, "for-each-ref", "--format=%(refname:short) %(objectname)")
              .trim()
              .split("\n")
              .map((line) => line.split(" ") as [string, string])
          )
          assert.deepInclude(Object.fromEntries(refs), { main: moved, newer: tipOf(root, "newer") })
          assert.isTrue(refs.has("of-the-run"))
          assert.isFalse(refs.has("v1"))
          assert.strictEqual(refs.get("feature"), tipOf(root, "main~2"))
        })
      )
  )

  const formats: ReadonlyArray<readonly [string, (created: Place) => void]> = [
    [
      "of SHA-256 names",
      ({ root }) => {
        git(root, "init", "-q", "-b", "main", "--object-format=sha256")
        commitIn(root, "1")
      }
    ],
    [
      "that is shallow",
      ({ home, root }) => {
        const source = join(home, "..", "source")
        mkdirSync(source)
        ownedRepository(source)
        git(root, "clone", "-q", "--depth=1", `file://${source}`, ".")
      }
    ],
    [
      "that borrows objects",
      ({ home, root }) => {
        const source = join(home, "..", "source")
        mkdirSync(source)
        ownedRepository(source)
        git(root, "clone", "-q", "--shared", source, ".")
      }
    ],
    [
      "that is a partial clone",
      ({ home, root }) => {
        const source = join(home, "..", "source")
        mkdirSync(source)
        ownedRepository(source)
        git(source, "config", "uploadpack.allowFilter", "true")
        git(root, "clone", "-q", "--filter=blob:none", `file://${source}`, ".")
      }
    ]
  ]

  it.effect.each(formats)(
    "works for a repository %s",
    ([, prepare]) =>
      inPlace(
        ({ root }) =>
          Effect.gen(function* () {
            const worktrees = yield* Worktrees
            const { path, runId } = yield* openedWorktree(root)
            assert.strictEqual(git(path, "status", "--porcelain"), "")
            const tip = commitIn(path, "work")
            assert.isUndefined(yield* worktrees.handOver(runId))
            assert.strictEqual(tipOf(root, `corral/${runId}`), tip)
            assert.deepInclude(yield* worktrees.get(runId), { head: tip, uncommitted: false, unmerged: true })
            assert.isTrue(isSound(root))
            yield* worktrees.remove(runId, true)
          }),
        prepare
      ),
    90_000
  )

  it.live(
    "is not disturbed by the owner's git, and does not disturb it",
    () =>
      inPlace(({ root }) =>
        Effect.gen(function* () {
          const worktrees = yield* Worktrees
          const owner = (...args: ReadonlyArray<string>) =>
            Effect.promise(() =>
              run("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], { cwd: root })
            )
          const life = Effect.fnUntraced(function* ({
            path,
            runId
          }: Effect.Success<ReturnType<typeof openedWorktree>>) {
            for (const text of ["one", "two"]) {
              const tip = commitIn(path, `${runId} ${text}`)
              assert.isUndefined(yield* worktrees.handOver(runId))
              assert.strictEqual(tipOf(root, `corral/${runId}`), tip)
              assert.isTrue(isSound(path))
            }
            return runId
          })
          const keeping = Effect.gen(function* () {
            for (let turn = 0; turn < 3; turn++) {
              yield* owner("worktree", "add", "-q", "--detach", join(root, "..", `tree${turn}`))
              yield* owner("commit", "-q", "--allow-empty", "--amend", "-m", `${turn}`)
              yield* owner("reflog", "expire", "--expire=now", "--all")
              yield* owner("gc", "-q", "--prune=now")
              yield* owner("worktree", "remove", join(root, "..", `tree${turn}`))
            }
          })
          const open = openedWorktree(root)
          const [, ...opened] = yield* Effect.all([owner("gc", "-q", "--prune=now"), open, open, open], {
            concurrency: "unbounded"
          })
          // From here on the owner's repository needs no commit that the worktrees began with.
          const [, ...ids] = yield* Effect.all([keeping, ...opened.map((each) => life(each))], {
            concurrency: "unbounded"
          })
          for (const runId of ids) {
            const path = worktrees.pathOf(runId as RunId)
            assert.isTrue(isSound(path))
            assert.strictEqual(git(path, "status", "--porcelain"), "")
          }
          assert.isTrue(isSound(root))
        })
      ),
    90_000
  )

  it.effect("replaces the part that a worktree of an earlier version has", () =>
    inPlace(({ home, root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const { row } = yield* worktrees.plan(runId, "ws" as WorkspaceId, root)
        yield* (yield* Store).commit([row])
        const path = worktrees.pathOf(runId)
        git(root, "worktree", "add", "-q", "-b", `corral/${runId}`, path)
        yield* (yield* Store).commit([
          [
            "UPDATE worktrees SET state = 'kept', worktree = json_set(worktree, '$.state', 'kept', '$.branch', json('true')) WHERE run_id = ?",
            runId
          ]
        ])
        git(path, "checkout", "-q", "--detach")
        const tip = commitIn(path, "detached")
        writeFileSync(join(path, "staged.txt"), "staged\n")
        git(path, "add", "staged.txt")
        const { head, uncommitted, unmerged } = yield* worktrees.get(runId)
        assert.deepStrictEqual([head, uncommitted, unmerged], [tip, true, true])
        assert.isFalse(existsSync(join(root, ".git/worktrees")))
        assert.strictEqual(
          readFileSync(join(path, ".git"), "utf8"),
          `gitdir: ${join(home, "worktrees", runId)}.git\n`
        )
        assert.strictEqual(git(path, "status", "--porcelain"), "A  staged.txt\n")
        assert.strictEqual(tipOf(root, `corral/${runId}`), tip)
        yield* Effect.scoped(worktrees.enter(runId))
      })
    )
  )

  it.effect("stays with an unfinished rebase of an earlier version, and says so", () =>
    inPlace(({ root }) =>
      Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const { path, runId } = yield* openedWorktree(root)
        for (const end of [".git", ".received"]) rmSync(`${path}${end}`, { recursive: true })
        rmSync(path, { recursive: true })
        git(root, "branch", "-D", `corral/${runId}`)
        git(root, "worktree", "add", "-q", "-b", `corral/${runId}`, path)
        mkdirSync(join(root, ".git/worktrees", runId, "rebase-merge"))
        const refusal = yield* Effect.flip(Effect.scoped(worktrees.enter(runId)))
        assert.match(refusal.details?.issues[0]?.message ?? "", /earlier version.*unfinished rebase/)
        assert.deepInclude(yield* worktrees.get(runId), { uncommitted: true, unmerged: true })
      })
    )
  )
})
