/** All attacks of a hostile run in a worktree on the repository of its workspace, each by itself, as root and as an ordinary user. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { users } from "../confinement/HostileRun.ts"
import { assertRefused, assertUnchanged } from "./HostileWorktree.ts"
import { place } from "./Repository.ts"
import { allAttacks, directAttacks, plantedRepositories, writesOfFiles } from "./RepositoryAttacks.ts"
import { ownedRepository, ownedState, runConfined } from "./RunInWorktree.ts"

const identity = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@b.c",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@b.c"
}

/** The state of a repository that may be broken. */
const stateIfAny = (root: string): unknown => {
  try {
    return ownedState(root)
  } catch {
    return undefined
  }
}

describe.skipIf(!canConfine)("A hostile run in a worktree", () => {
  const attacks = { ...directAttacks, ...writesOfFiles }

  for (const [who, user] of users)
    it.live.each(Object.entries(attacks))(`%s, as ${who}: nothing changes`, ([, script]) =>
      assertUnchanged((owned, runId) => runConfined(owned, runId, script, user))
    )

  it.live.each(Object.entries(plantedRepositories))("leaves %s: none of it arrives", ([what, script]) =>
    assertRefused(what, script)
  )

  it.live("would succeed if it were not confined: the attacks work", () =>
    Effect.gen(function* () {
      for (const script of [...Object.values(directAttacks), allAttacks]) {
        const { home, root } = yield* place
        ownedRepository(root)
        const before = ownedState(root)
        const [R, W] = [join(root, ".git"), join(home, "none")]
        spawnSync("bash", ["-c", script], { cwd: root, env: { ...process.env, R, W, ...identity } })
        assert.notDeepEqual(stateIfAny(root), before, script)
      }
    }).pipe(Effect.scoped)
  )
})
