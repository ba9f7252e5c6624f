/**
 * Git for one worktree, in three repositories: that of the workspace, that of the run, and a store of the Edge that borrows the objects of the
 * workspace and has a neutral configuration. The store examines and writes files, and receives what the run has committed.
 *
 * Guarantees: filters, hooks and monitors of the workspace's configuration do not run. Git itself moves refs, without hooks or a reflog, because
 * a link instead of a ref file would be followed. Only an isolated git opens the run's repository.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { existsSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { attemptFiles, git, type GitCall, type GitFailed, type GitOutput, type GitIsolation } from "./Git.ts"
import { EdgeRefRecord } from "./EdgeRefs.ts"
import { objectFoldersOf, type ObjectFormat, type WorkspaceRepository } from "./WorkspaceRepository.ts"

export interface WorktreePlace {
  /** Absolute path of git. */
  readonly program: string
  /** The workspace's `.git`. */
  readonly repository: string
  /** Where the files are. */
  readonly folder: string
  /** The run's repository. */
  readonly runRepository: string
  /** Folder of the store. */
  readonly store: string
  /** Where the store has its objects. */
  readonly objects: string
  readonly facts: Pick<WorkspaceRepository, "format" | "partialRemote" | "shallow">
  readonly isolation: GitIsolation
  /** Where the run sees a folder of objects of the workspace. Only of a run in a layer. */
  readonly borrowed?: ((real: string) => string) | undefined
  /** Environment that marks git's processes, so that the next Edge finds them after a crash. */
  readonly mark?: Readonly<Record<string, string>>
}

const QUESTION_MS = 60_000
const FILES_MS = 600_000
/** For the repository of a run, which may make git wait. */
const RUN_MS = 20_000

let scratches = 0

interface Ask {
  readonly env?: Readonly<Record<string, string>>
  readonly accept?: ReadonlyArray<number>
  readonly stdin?: Buffer
  readonly maxBytes?: number
}

/** Refs wait for a `git gc` of the owner. */
const PATIENT = ["-c", "core.filesRefLockTimeout=10000", "-c", "core.packedRefsTimeout=10000"]

const textOf = ({ bytes }: GitOutput): string => bytes.toString("latin1").trim()

export class WorktreeGit {
  readonly place: WorktreePlace

  constructor(place: WorktreePlace) {
    this.place = place
  }

  /** Call of git in the workspace's repository. */
  inWorkspace(args: ReadonlyArray<string>, { env, ...ask }: Ask = {}): GitCall {
    const { mark, program, repository } = this.place
    return {
      program,
      cwd: repository,
      args: ["-c", "core.logAllRefUpdates=false", ...PATIENT, ...args],
      env: { ...mark, ...env, GIT_DIR: repository },
      timeoutMs: QUESTION_MS,
      ...ask
    }
  }

  /** Call of git in the store, without files. */
  inStore(args: ReadonlyArray<string>, { env, ...ask }: Ask = {}): GitCall {
    const { mark, objects, program, store } = this.place
    return {
      program,
      cwd: store,
      args: ["-c", "core.bigFileThreshold=64m", ...args],
      env: { ...mark, ...env, GIT_DIR: store, GIT_OBJECT_DIRECTORY: objects },
      timeoutMs: QUESTION_MS,
      ...ask
    }
  }

  /** Call of an isolated git in the run's repository. */
  inRun(args: ReadonlyArray<string>, { env, ...ask }: Ask = {}): GitCall {
    const { borrowed, isolation, mark, program, repository, runRepository } = this.place
    const folders = objectFoldersOf(repository)
    const objects =
      borrowed === undefined ? folders : folders.map(({ real }) => ({ path: borrowed(real), real }))
    return {
      program,
      cwd: "/",
      args,
      env: { ...mark, ...env, GIT_DIR: runRepository },
      timeoutMs: RUN_MS,
      isolate: (command) => isolation(command, { repository: runRepository, objects }),
      ...ask
    }
  }

  /** Runs git in the workspace's repository, to query it or to move a ref. Never reads or writes files of a work tree. */
  ask(args: ReadonlyArray<string>, ask: Ask = {}): Effect.Effect<string, GitFailed> {
    return Effect.map(git(this.inWorkspace(args, ask)), textOf)
  }

  /** Moves or creates a ref of the workspace's repository. `earlier`: the value that it must have, empty if it must not exist. */
  writeRef(name: string, value: string, earlier?: string): Effect.Effect<void, GitFailed> {
    const expected = earlier === "" ? ["0".repeat(value.length)] : earlier === undefined ? [] : [earlier]
    return this.#recorded(name, value, earlier, ["update-ref", name, value, ...expected])
  }

  /** Deletes a ref of the workspace's repository, if it exists. */
  deleteRef(name: string, earlier?: string): Effect.Effect<void, GitFailed> {
    const expected = earlier === undefined ? [] : [earlier]
    return this.#recorded(name, "", earlier, ["update-ref", "-d", name, ...expected])
  }

  #recorded(
    name: string,
    value: string,
    earlier: string | undefined,
    args: ReadonlyArray<string>
  ): Effect.Effect<void, GitFailed> {
    const { folder, repository } = this.place
    const record = new EdgeRefRecord(folder, repository)
    return attemptFiles(() => {
      // Git adds a line to a reflog that exists, through a link as well.
      const log = lstatSync(join(repository, "logs", name), { throwIfNoEntry: false })
      if (log?.isFile() === false && !log.isDirectory()) throw new Error("a reflog is not a regular file")
      record.announce(name, value, earlier ?? "")
    }).pipe(Effect.andThen(this.ask(args)), Effect.andThen(attemptFiles(() => record.confirm(name, value))))
  }

  askStore(args: ReadonlyArray<string>, ask: Ask = {}): Effect.Effect<string, GitFailed> {
    return Effect.andThen(this.prepared, Effect.map(git(this.inStore(args, ask)), textOf))
  }

  askRun(args: ReadonlyArray<string>, ask: Ask = {}): Effect.Effect<string, GitFailed> {
    return Effect.map(git(this.inRun(args, ask)), textOf)
  }

  /** Runs git on the files of the worktree, with an index. */
  onFiles(
    index: string,
    args: ReadonlyArray<string>,
    accept: ReadonlyArray<number> = [0]
  ): Effect.Effect<GitOutput, GitFailed> {
    const { folder, mark, objects, program, repository, store } = this.place
    const run = git({
      program,
      cwd: folder,
      args: ["-c", `core.excludesFile=${join(repository, "info/exclude")}`, ...args],
      env: {
        ...mark,
        GIT_DIR: store,
        GIT_WORK_TREE: folder,
        GIT_INDEX_FILE: index,
        GIT_OBJECT_DIRECTORY: objects
      },
      timeoutMs: FILES_MS,
      accept
    })
    return Effect.andThen(this.prepared, run)
  }

  /** The name of the tree that an index holds. */
  treeOf(index: string): Effect.Effect<string, GitFailed> {
    return Effect.map(this.onFiles(index, ["write-tree"]), textOf)
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
      const scratch = join(this.place.store, `${process.pid}.${scratches++}.index`)
      const remove = Effect.sync(() => {
        for (const file of [scratch, `${scratch}.lock`]) rmSync(file, { force: true })
      })
      return this.prepared.pipe(Effect.andThen(use(scratch)), Effect.ensuring(remove))
    })
  }

  /** Creates the store: no refs, and the minimum of configuration. */
  get prepared(): Effect.Effect<void, GitFailed> {
    return attemptFiles(() => {
      const { facts, objects, repository, store } = this.place
      const head = join(store, "HEAD")
      const isSeparate = dirname(objects) === store
      if (existsSync(head)) {
        if (isSeparate && facts.shallow !== undefined) writeFileSync(join(store, "shallow"), facts.shallow)
        return
      }
      for (const name of ["objects/info", "objects/pack", "refs"]) makeFolder(join(store, name))
      if (isSeparate)
        writeFileSync(join(objects, "info/alternates"), `${join(repository, "objects")}\n`, { mode: 0o600 })
      if (isSeparate && facts.shallow !== undefined) writeFileSync(join(store, "shallow"), facts.shallow)
      writeFileSync(join(store, "config"), configOf(facts), { mode: 0o600 })
      writeFileSync(`${head}.new`, "ref: refs/heads/none\n", { mode: 0o600 })
      renameSync(`${head}.new`, head)
    })
  }
}

const configOf = ({ format, partialRemote }: WorktreePlace["facts"]): string => {
  const extensions = [
    ...(format === "sha1" ? [] : [`\tobjectFormat = ${format}`]),
    // The name counts, not the remote: objects that the workspace lacks may be missing.
    ...(partialRemote === undefined ? [] : ["\tpartialClone = origin"])
  ]
  const version = extensions.length === 0 ? 0 : 1
  const core = `[core]\n\trepositoryformatversion = ${version}\n\tbare = false\n`
  return extensions.length === 0 ? core : `${core}[extensions]\n${extensions.join("\n")}\n`
}

/** Folder of the store that plans use, which depends on the format of names. */
export const plansStore = (home: string, format: ObjectFormat): string =>
  join(home, format === "sha1" ? "worktrees.git" : `worktrees.${format}.git`)
