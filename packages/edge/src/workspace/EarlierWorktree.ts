/**
 * Conversion of a worktree of an earlier version, which was a part of the workspace's repository, to one with the repository of its run.
 *
 * Guarantees: the branch, the commit that is checked out and the index stay. A worktree that cannot be converted stays as it is.
 * Does not: convert an unfinished rebase.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { copyFileSync, constants, lstatSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { GitFailed } from "./Git.ts"
import { smallFile } from "./SmallFile.ts"

/** Files of a part that belong to its place. */
const OF_PLACE = new Set(["commondir", "gitdir", "config.worktree", "HEAD", "locked"])
const MAX_INDEX = 1_073_741_824

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** The part of the workspace's repository, if the worktree is one of an earlier version. */
export const earlierPart = (repository: string, runId: RunId, runRepository: string): string | undefined => {
  const part = join(repository, "worktrees", runId)
  return !isFolder(runRepository) && isFolder(dirname(part)) && isFolder(part) ? part : undefined
}

/** The branch or commit that an earlier worktree has checked out. Fails if it cannot be converted. */
export const headOfPart = (part: string): Effect.Effect<string, GitFailed> =>
  Effect.suspend(() => {
    if (["rebase-merge", "rebase-apply"].some((name) => isFolder(join(part, name))))
      return Effect.fail(new GitFailed({ message: "it has an unfinished rebase" }))
    const head = smallFile(join(part, "HEAD"))?.trim() ?? ""
    return /^(?:ref: refs\/heads\/[^\s~^:?*[\\]+|[0-9a-f]{40})$/.test(head)
      ? Effect.succeed(head)
      : Effect.fail(new GitFailed({ message: "it has no branch and no commit" }))
  })

/** Copies the state of a part into the run's repository. */
export const copyPart = (part: string, runRepository: string, head: string): void => {
  for (const name of readdirSync(part)) {
    const stat = lstatSync(join(part, name))
    if (OF_PLACE.has(name) || !stat.isFile() || stat.size > MAX_INDEX) continue
    copyFileSync(join(part, name), join(runRepository, name), constants.COPYFILE_FICLONE)
  }
  writeFileSync(join(runRepository, "HEAD"), `${head}\n`)
}

/** Removes the part, if there is one. */
export const removePart = (repository: string, runId: RunId): void => {
  const parent = join(repository, "worktrees")
  if (!isFolder(parent)) return
  rmSync(join(parent, runId), { recursive: true, force: true })
  try {
    rmdirSync(parent)
  } catch {
    // There are other worktrees.
  }
}
