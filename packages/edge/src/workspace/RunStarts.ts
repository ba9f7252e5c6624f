/**
 * Starts of runs by the clock of the file system, and the files of a workspace that changed since, by their change times, which no program can set back.
 * Needs no git, and includes ignored files.
 *
 * Guarantees: a file that changes after `mark` has a later time.
 * Does not: follow links, see deleted files, or read more than `ENTRIES` entries. Of a repository's own folder only hooks and settings count, because git
 * runs these commands later.
 */
import type { ChangeSetId, RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { rmSync, statSync, writeFileSync } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { bytePath, pathText } from "./PathText.ts"

const ENTRIES = 200_000

const repositoryFolder = /(?:^|\/)\.git$/
/** Rewritten by git commands that only read, so not a change by the run. */
const isBookkeeping = (path: string): boolean =>
  /(?:^|\/)\.git\/(?!hooks(?:\/|$)|config$|info(?:\/|$))/.test(path)

/** Changed paths relative to `root`, with `/`. `since` is in nanoseconds of the file system's clock, exclusive. */
const changedPaths = async (root: string, since: bigint): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  let seen = 0
  const folders = [""]
  for (let folder = folders.pop(); folder !== undefined && seen < ENTRIES; folder = folders.pop()) {
    const entries = await readdir(bytePath(root, folder), { encoding: "latin1", withFileTypes: true }).catch(
      () => []
    )
    seen += entries.length
    const looked = entries.map(async (entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (isBookkeeping(path)) return
      if (entry.isDirectory()) return void folders.push(path)
      if (repositoryFolder.test(path)) return
      // The file was deleted after it was listed.
      const stats = await lstat(bytePath(root, path), { bigint: true }).catch(() => undefined)
      if (stats !== undefined && stats.ctimeNs > since) found.push(pathText(Buffer.from(path, "latin1")))
    })
    await Promise.all(looked)
  }
  return found
}

/** Writes a file and returns its time in nanoseconds of the file system's clock. */
const touch = (file: string): bigint => {
  makeFolder(dirname(file))
  writeFileSync(file, "", { mode: 0o600 })
  return statSync(file, { bigint: true }).ctimeNs
}

export class RunStarts {
  /** Has an empty file of each start. */
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  private fileOf(id: RunId | ChangeSetId | TaskGroupId): string {
    return join(this.folder, `${id}.start`)
  }

  readonly mark = Effect.fnUntraced({ self: this }, function* (runId: RunId) {
    const since = touch(this.fileOf(runId))
    // The file system's clock advances in steps: wait for the next step.
    while (touch(join(this.folder, "now")) <= since) yield* Effect.promise(() => setTimeout(1))
  })

  /** Paths of `root` that changed since the mark of the run. None without a mark. */
  changedSince(runId: RunId, root: string): Effect.Effect<ReadonlyArray<string>> {
    return Effect.suspend(() => {
      const since = statSync(this.fileOf(runId), { bigint: true, throwIfNoEntry: false })?.ctimeNs
      return since === undefined ? Effect.succeed([]) : Effect.promise(() => changedPaths(root, since))
    })
  }

  forget(id: RunId | ChangeSetId | TaskGroupId): void {
    rmSync(this.fileOf(id), { force: true })
  }
}
