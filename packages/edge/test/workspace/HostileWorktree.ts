/** Asserts that a hostile run in a worktree changes nothing of the workspace's repository. */
import type { RunId } from "@corral/domain/identity/Ids"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Confinement } from "../../src/confinement/Confinement.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { commitAll, git, place, type Place, sampleRepository } from "./Repository.ts"
import { harmlessPlants } from "./RepositoryAttacks.ts"
import {
  confinedServices,
  openedWorktree,
  ownedRepository,
  ownedState,
  runConfined
} from "./RunInWorktree.ts"

/** Everything that the owner has is as before. */
export const assertUnchanged = <A, E>(
  attack: (owned: Place, runId: RunId) => Effect.Effect<A, E, Worktrees | Confinement>
) =>
  Effect.gen(function* () {
    const owned = yield* place
    ownedRepository(owned.root)
    yield* Effect.gen(function* () {
      const { runId } = yield* openedWorktree(owned.root)
      const before = ownedState(owned.root)
      assert.strictEqual(before.fsck.status, 0)
      yield* attack(owned, runId)
      assert.deepStrictEqual(ownedState(owned.root), before)
    }).pipe(Effect.provide(confinedServices(owned)), Effect.scoped)
  }).pipe(Effect.scoped)

/** The Edge takes nothing of a planted repository, and says so where there was something to take. */
export const assertRefused = (what: string, script: string) =>
  assertUnchanged((owned, runId) =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const other = join(owned.home, "..", "other")
      mkdirSync(other)
      sampleRepository(other)
      writeFileSync(join(other, "a.txt"), "secret\n")
      commitAll(other)
      const secret = git(other, "rev-parse", "HEAD").trim()
      const base = git(owned.root, "rev-parse", "HEAD").trim()
      // The run knows where the other repository is, and cannot see it.
      const variables = { OTHER: join(other, ".git"), SECRET: secret }
      yield* runConfined(owned, runId, script, undefined, variables)
      const problem = yield* worktrees.handOver(runId)
      assert.strictEqual(problem === undefined, harmlessPlants.has(what), problem)
      yield* worktrees.close(runId)
      yield* worktrees.get(runId)
      const branches = git(owned.root, "for-each-ref", "--format=%(objectname)", "refs/heads/corral")
      assert.deepStrictEqual(branches.trim().split("\n"), [base])
      assert.notStrictEqual(spawnSync("git", ["cat-file", "-e", secret], { cwd: owned.root }).status, 0)
      assert.isFalse(existsSync(join(`${worktrees.pathOf(runId)}.git`, "commondir")))
      yield* Effect.ignore(worktrees.remove(runId, true))
    })
  )
