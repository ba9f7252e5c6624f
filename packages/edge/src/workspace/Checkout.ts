/**
 * What a person's checkout has that a worktree of it will not have: changes that are in no commit, and new files that git does not ignore.
 *
 * For telling only. It trusts the checkout's own index, so that a large repository is looked through in no time; an index can be wrong.
 */
import type { LeftOut } from "@corral/domain/run/Worktree"
import { Effect } from "effect"
import { copyFileSync, statSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { attemptFiles, type WorktreeGit } from "./WorktreeGit.ts"
import { texts } from "./ShadowRepository.ts"

const TIME_LIMIT = "10 seconds"
const PATHS = 100

/** `undefined` where there is nothing, or it cannot be told. */
export const leftOutOf = (
  git: WorktreeGit,
  repository: string,
  head: string
): Effect.Effect<LeftOut | undefined> =>
  git
    .withScratch((index) =>
      Effect.gen(function* () {
        yield* attemptFiles(() => {
          const own = join(repository, "index")
          copyFileSync(own, index)
          // Not newer than its entries: git looks again at those that could have changed since.
          const seconds = Math.floor(statSync(own).mtimeMs / 1_000)
          utimesSync(index, seconds, seconds)
        })
        yield* git.onFiles(index, ["update-index", "-q", "--ignore-submodules", "--refresh"], [0, 1])
        const compare = ["diff-index", "-z", "--name-only", "--ignore-submodules=dirty", head]
        const others = [
          "ls-files",
          "-z",
          "--others",
          "--exclude-standard",
          "--directory",
          "--no-empty-directory"
        ]
        const changed = [
          ...texts((yield* git.onFiles(index, compare)).bytes),
          ...texts((yield* git.onFiles(index, others)).bytes)
        ].toSorted()
        return changed.length === 0 ? undefined : { count: changed.length, paths: changed.slice(0, PATHS) }
      })
    )
    .pipe(
      Effect.timeout(TIME_LIMIT),
      Effect.catch((cause) =>
        Effect.as(Effect.logWarning(`what the checkout has could not be told: ${cause.message}`), undefined)
      )
    )
