/**
 * The Edge's own repository for a workspace, with the workspace as its work tree. It stores states of the workspace as git trees.
 *
 * Guarantees: nothing is written into the workspace or its repository. A state is first an index file, made by one git process; its tree is
 * written on demand. The newest index is the start of the next one, so that only changes are read.
 * Does not: copy objects of the workspace's repository. If that loses them, the states lose them too.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { git, type GitCall, GitFailed, type GitOutput } from "./Git.ts"
import { gitFolderOf } from "./GitFolder.ts"

export interface ShadowOptions {
  /** Absolute path of git. */
  readonly program: string
  /** Folder of all shadow repositories. */
  readonly folder: string
  /** Real path of the workspace. */
  readonly root: string
  readonly timeoutMs: number
  /** Shells that become git. */
  readonly launchers?: GitCall["launchers"]
}

/** The mode of a git link, 160000 in octal, as in an index. */
const GITLINK_MODE = Buffer.from([0, 0, 0xe0, 0])

/** Paths without review, in a workspace that has no repository with ignore rules. */
const IGNORED = ["node_modules/", ".venv/", "__pycache__/", ".gradle/", ".DS_Store"]

export class ShadowRepository {
  private readonly options: ShadowOptions
  private readonly folder: string

  constructor(options: ShadowOptions) {
    this.options = options
    this.folder = join(options.folder, createHash("sha256").update(options.root).digest("hex").slice(0, 16))
  }

  /** Folder of the run's states. */
  fileOf(runId: string, what: string): string {
    return join(this.folder, "runs", `${runId}.${what}`)
  }

  private get isRepository(): boolean {
    return existsSync(join(this.options.root, ".git"))
  }

  /** The workspace's repository. That of a worktree is elsewhere. */
  private get repository(): string {
    const { root } = this.options
    return gitFolderOf(root)?.common ?? join(root, ".git")
  }

  /** Creates the repository if it is missing, without git. */
  open(): void {
    if (existsSync(join(this.folder, "HEAD"))) return
    for (const inner of ["objects/info", "refs", "info", "runs"]) {
      makeFolder(join(this.folder, inner))
    }
    const objects = join(this.repository, "objects")
    if (statSync(objects, { throwIfNoEntry: false })?.isDirectory() === true)
      writeFileSync(join(this.folder, "objects/info/alternates"), `${objects}\n`)
    // Attributes of the workspace would change the stored content. Bytes are stored unchanged.
    writeFileSync(join(this.folder, "info/attributes"), "* -text -ident -filter -working-tree-encoding\n")
    writeFileSync(join(this.folder, "ignored"), `${IGNORED.join("\n")}\n`)
    writeFileSync(join(this.folder, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    writeFileSync(join(this.folder, "HEAD"), "ref: refs/heads/none\n")
  }

  /** Writes the current state of the workspace into an index file. */
  readonly capture = Effect.fnUntraced({ self: this }, function* (index: string): Effect.fn.Return<
    void,
    GitFailed
  > {
    yield* Effect.try({
      try: () => {
        this.open()
        const newest = join(this.folder, "index")
        rmSync(index, { force: true })
        // A link, not a copy: git uses the time of an index to decide which entries it may trust.
        if (existsSync(newest)) linkSync(newest, index)
      },
      catch: (cause) => new GitFailed({ message: String(cause) })
    })
    const ignored = this.isRepository ? join(this.repository, "info/exclude") : join(this.folder, "ignored")
    yield* this.leaveRepositories(index)
    // 1: a file could not be read, or is a repository without a commit. The rest is in the index.
    yield* this.run(["-c", `core.excludesFile=${ignored}`, "add", "-A", "--ignore-errors", "--", "."], {
      index,
      accept: [0, 1]
    })
    // Git writes no index for an empty folder.
    if (!existsSync(index)) yield* this.run(["read-tree", "--empty"], { index })
    yield* Effect.try({
      try: () => {
        const next = `${index}.next`
        rmSync(next, { force: true })
        linkSync(index, next)
        renameSync(next, join(this.folder, "index"))
        // A rename between two names of the same file has no effect.
        rmSync(next, { force: true })
      },
      catch: (cause) => new GitFailed({ message: String(cause) })
    })
  })

  /**
   * Removes repositories inside the workspace from an index. In such a repository, `git add` runs git with the filters of that repository.
   * This step records only which commit is checked out.
   */
  private readonly leaveRepositories = Effect.fnUntraced(
    { self: this },
    function* (index: string): Effect.fn.Return<void, GitFailed> {
      // The modes of the entries show without git that most workspaces have no such repository.
      if (!existsSync(index) || !readFileSync(index).includes(GITLINK_MODE)) return
      const { bytes } = yield* this.run(["ls-files", "-z", "--stage"], { index })
      const removals = bytes
        .toString("latin1")
        .split("\0")
        .filter((record) => record.startsWith("160000 "))
        .map((record) => `0 ${"0".repeat(40)}${record.slice(record.indexOf("\t"))}\0`)
      const stdin = Buffer.from(removals.join(""), "latin1")
      yield* this.run(["update-index", "-z", "--index-info"], { index, stdin })
    }
  )

  /** The tree of a captured state. */
  treeOf(index: string): Effect.Effect<string, GitFailed> {
    return Effect.map(this.run(["write-tree", "--missing-ok"], { index }), ({ bytes }) =>
      bytes.toString("latin1").trim()
    )
  }

  /** Paths of a captured state. */
  pathsOf(index: string): Effect.Effect<ReadonlySet<string>, GitFailed> {
    return Effect.map(
      this.run(["ls-files", "-z"], { index }),
      ({ bytes }) => new Set(splitZeroTerminated(bytes))
    )
  }

  /** The paths that the workspace's repository tracks; none without a repository. */
  readonly tracked = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    ReadonlySet<string> | undefined,
    GitFailed
  > {
    if (!this.isRepository) return undefined
    const { program, root, timeoutMs } = this.options
    const { bytes } = yield* git({ program, cwd: root, args: ["ls-files", "-z", "--", "."], timeoutMs })
    return new Set(splitZeroTerminated(bytes))
  })

  /** Runs git on the shadow repository. */
  run(
    args: ReadonlyArray<string>,
    more: {
      readonly index?: string
      readonly stdin?: Buffer
      readonly accept?: ReadonlyArray<number>
      readonly maxBytes?: number
    } = {}
  ): Effect.Effect<GitOutput, GitFailed> {
    const { launchers, program, root, timeoutMs } = this.options
    const { index, ...limits } = more
    return git({
      program,
      launchers,
      // Trees are compared also after a worktree is removed.
      cwd: existsSync(root) ? root : this.folder,
      args,
      timeoutMs,
      env: {
        GIT_DIR: this.folder,
        GIT_WORK_TREE: root,
        ...(index === undefined ? {} : { GIT_INDEX_FILE: index })
      },
      ...limits
    })
  }
}

/** Records that git ends with a zero byte. */
export const splitZeroTerminated = (bytes: Buffer): ReadonlyArray<string> => {
  const all = bytes.toString("utf8").split("\0")
  all.pop()
  return all
}
