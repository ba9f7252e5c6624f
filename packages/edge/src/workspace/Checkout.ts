/**
 * Parts of a checkout that a new worktree would not have: uncommitted changes, and new files that git does not ignore.
 *
 * For information only: it trusts the checkout's index, which may be wrong, so that it is fast on a large repository.
 */
import type { LeftOut } from "@corral/domain/run/Worktree"
import { Effect } from "effect"
import { copyFileSync, statSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { attemptFiles } from "./Git.ts"
import type { WorktreeGit } from "./WorktreeGit.ts"
import { splitZeroTerminated } from "./ShadowRepository.ts"

const TIME_LIMIT = "10 seconds"
const PATHS = 100

/** `undefined` if there are none, or if git fails. */
export const leftOutOf = (
  git: WorktreeGit,
  repository: string,
  head: string
): Effect.Effect<LeftOut | undefined> =>
  git
    .withScratch((index) =>
      Effect.gen(function* () {
        yield* attemptFiles(() => {
          const source = join(repository, "index")
          copyFileSync(source, index)
          // Not newer than its entries, so that git checks entries that could have changed since.
          const seconds = Math.floor(statSync(source).mtimeMs / 1_000)
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
          ...splitZeroTerminated((yield* git.onFiles(index, compare)).bytes),
          ...splitZeroTerminated((yield* git.onFiles(index, others)).bytes)
        ].toSorted()
        return changed.length === 0 ? undefined : { count: changed.length, paths: changed.slice(0, PATHS) }
      })
    )
    .pipe(
      Effect.timeout(TIME_LIMIT),
      Effect.catch((cause) =>
        Effect.as(
          Effect.logWarning("failed to read uncommitted changes", { cause: cause.message }),
          undefined
        )
      )
    )
