/**
 * Git for one worktree. Refs and commits use the workspace's repository. Files use a neutral repository that borrows its objects and has no
 * configuration.
 *
 * Guarantees: filters, hooks and monitors of the workspace's configuration do not run. Git itself moves refs, without hooks or a reflog, because
 * a link instead of a ref file would be followed.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { git, GitFailed, type GitOutput } from "./Git.ts"

export interface WorktreePlace {
  /** Absolute path of git. */
  readonly program: string
  /** The workspace's `.git`. */
  readonly repository: string
  /** Where the files are. */
  readonly folder: string
  /** Folder of the neutral repository. */
  readonly neutral: string
  /** Environment that marks git's processes, so that the next Edge finds them after a crash. */
  readonly mark?: Readonly<Record<string, string>>
}

/** Work on git's files. Its failures are reported like git's failures. */
export const attemptFiles = <A>(work: () => A): Effect.Effect<A, GitFailed> =>
  Effect.try({ try: work, catch: (cause) => new GitFailed({ message: String(cause) }) })

const QUESTION_MS = 60_000
const FILES_MS = 600_000

let scratches = 0

interface Ask {
  /** Git directory, if it is not the workspace's. */
  readonly gitDir?: string
  readonly env?: Readonly<Record<string, string>>
  readonly accept?: ReadonlyArray<number>
}

export class WorktreeGit {
  private readonly place: WorktreePlace

  constructor(place: WorktreePlace) {
    this.place = place
  }

  /** Runs git in the workspace's repository, to query it or to move a ref. Never reads or writes files of a work tree. */
  ask(
    args: ReadonlyArray<string>,
    { accept = [0], env, gitDir }: Ask = {}
  ): Effect.Effect<string, GitFailed> {
    const { mark, program, repository } = this.place
    const output = git({
      program,
      cwd: repository,
      args: ["-c", "core.logAllRefUpdates=false", ...args],
      env: { ...mark, ...env, GIT_DIR: gitDir ?? repository },
      timeoutMs: QUESTION_MS,
      accept
    })
    return Effect.map(output, ({ bytes }) => bytes.toString("latin1").trim())
  }

  /** Runs git on the files of the worktree, with an index. */
  onFiles(
    index: string,
    args: ReadonlyArray<string>,
    accept: ReadonlyArray<number> = [0]
  ): Effect.Effect<GitOutput, GitFailed> {
    const { folder, mark, neutral, program, repository } = this.place
    const run = git({
      program,
      cwd: folder,
      args: ["-c", `core.excludesFile=${join(repository, "info/exclude")}`, ...args],
      env: {
        ...mark,
        GIT_DIR: neutral,
        GIT_WORK_TREE: folder,
        GIT_INDEX_FILE: index,
        GIT_OBJECT_DIRECTORY: join(repository, "objects")
      },
      timeoutMs: FILES_MS,
      accept
    })
    return Effect.andThen(this.prepared, run)
  }

  /** The name of the tree that an index holds. */
  treeOf(index: string): Effect.Effect<string, GitFailed> {
    return Effect.map(this.onFiles(index, ["write-tree"]), ({ bytes }) => bytes.toString("latin1").trim())
  }

  /** Uses a new index of a commit. The index of the worktree has no influence. */
  withIndexOf<A>(
    commit: string,
    use: (index: string) => Effect.Effect<A, GitFailed>
  ): Effect.Effect<A, GitFailed> {
    return this.withScratch((index) => Effect.andThen(this.onFiles(index, ["read-tree", commit]), use(index)))
  }

  /** Uses the path of a temporary file. */
  withScratch<A>(use: (scratch: string) => Effect.Effect<A, GitFailed>): Effect.Effect<A, GitFailed> {
    return Effect.suspend(() => {
      const scratch = join(this.place.neutral, `${process.pid}.${scratches++}.index`)
      const remove = Effect.sync(() => {
        for (const file of [scratch, `${scratch}.lock`]) rmSync(file, { force: true })
      })
      return this.prepared.pipe(Effect.andThen(use(scratch)), Effect.ensuring(remove))
    })
  }

  /** Creates the neutral repository: no objects, and the minimum of configuration. */
  private get prepared(): Effect.Effect<void, GitFailed> {
    return attemptFiles(() => {
      const { neutral } = this.place
      const head = join(neutral, "HEAD")
      if (existsSync(head)) return
      for (const name of ["objects", "refs"]) makeFolder(join(neutral, name))
      const config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
      writeFileSync(join(neutral, "config"), config, { mode: 0o600 })
      writeFileSync(`${head}.new`, "ref: refs/heads/none\n", { mode: 0o600 })
      renameSync(`${head}.new`, head)
    })
  }
}
