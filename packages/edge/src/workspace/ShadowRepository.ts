/**
 * A repository of our own for each workspace, with the workspace as its work tree: the states of the workspace as git trees, without a
 * single write into the workspace or its repository.
 *
 * A state is first an index file, which one git process makes; its tree is written when it is asked for. The newest index is kept as
 * the next one's start, so that only what changed is read. Objects that the workspace's own repository holds are not copied: where it
 * loses them, so do we.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { git, GitFailed, type GitOutput } from "./Git.ts"
import { gitFolderOf } from "./GitFolder.ts"

export interface ShadowOptions {
  /** Absolute path of git. */
  readonly program: string
  /** Folder of all of them. */
  readonly folder: string
  /** Real path of the workspace. */
  readonly root: string
  readonly timeoutMs: number
}

/** 160000 in octal, as an index holds it. */
const GITLINK_MODE = Buffer.from([0, 0, 0xe0, 0])

/** Paths that are not reviewed, in a workspace without a repository that says what to ignore. */
const IGNORED = ["node_modules/", ".venv/", "__pycache__/", ".gradle/", ".DS_Store"]

export class ShadowRepository {
  private readonly options: ShadowOptions
  private readonly folder: string

  constructor(options: ShadowOptions) {
    this.options = options
    this.folder = join(options.folder, createHash("sha256").update(options.root).digest("hex").slice(0, 16))
  }

  /** Where that run's states are kept. */
  fileOf(runId: string, what: string): string {
    return join(this.folder, "runs", `${runId}.${what}`)
  }

  private get isRepository(): boolean {
    return existsSync(join(this.options.root, ".git"))
  }

  /** The workspace's own; that of a worktree lies elsewhere. */
  private get repository(): string {
    const { root } = this.options
    return gitFolderOf(root)?.common ?? join(root, ".git")
  }

  /** Made where it is missing; writes nothing that git would have to be asked for. */
  open(): void {
    if (existsSync(join(this.folder, "HEAD"))) return
    for (const inner of ["objects/info", "refs", "info", "runs"]) {
      mkdirSync(join(this.folder, inner), { recursive: true, mode: 0o700 })
    }
    const own = join(this.repository, "objects")
    if (statSync(own, { throwIfNoEntry: false })?.isDirectory() === true)
      writeFileSync(join(this.folder, "objects/info/alternates"), `${own}\n`)
    // Attributes of the workspace would change what is stored: bytes are kept as they are.
    writeFileSync(join(this.folder, "info/attributes"), "* -text -ident -filter -working-tree-encoding\n")
    writeFileSync(join(this.folder, "ignored"), `${IGNORED.join("\n")}\n`)
    writeFileSync(join(this.folder, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    writeFileSync(join(this.folder, "HEAD"), "ref: refs/heads/none\n")
  }

  /** Writes the workspace as it is into an index file. */
  readonly capture = Effect.fnUntraced({ self: this }, function* (index: string): Effect.fn.Return<
    void,
    GitFailed
  > {
    yield* Effect.try({
      try: () => {
        this.open()
        const newest = join(this.folder, "index")
        rmSync(index, { force: true })
        // A link, not a copy: git tells by an index's time which of its entries it may trust.
        if (existsSync(newest)) linkSync(newest, index)
      },
      catch: (cause) => new GitFailed({ message: String(cause) })
    })
    const ignored = this.isRepository ? join(this.repository, "info/exclude") : join(this.folder, "ignored")
    yield* this.leaveRepositories(index)
    // 1: something could not be read, or is a repository without a commit. The rest is there.
    yield* this.run(["-c", `core.excludesFile=${ignored}`, "add", "-A", "--ignore-errors", "--", "."], {
      index,
      accept: [0, 1]
    })
    // Of an empty folder git writes none.
    if (!existsSync(index)) yield* this.run(["read-tree", "--empty"], { index })
    yield* Effect.try({
      try: () => {
        const next = `${index}.next`
        rmSync(next, { force: true })
        linkSync(index, next)
        renameSync(next, join(this.folder, "index"))
        // Two names of one file are not moved over each other.
        rmSync(next, { force: true })
      },
      catch: (cause) => new GitFailed({ message: String(cause) })
    })
  })

  /**
   * Takes the repositories inside the workspace out of an index: where `git add` finds one in there, it looks into it with a git that
   * runs the filters of that repository. This finds them again, and records only which commit is checked out.
   */
  private readonly leaveRepositories = Effect.fnUntraced(
    { self: this },
    function* (index: string): Effect.fn.Return<void, GitFailed> {
      // Its entries' modes: that most workspaces have none of these is seen without git.
      if (!existsSync(index) || !readFileSync(index).includes(GITLINK_MODE)) return
      const { bytes } = yield* this.run(["ls-files", "-z", "--stage"], { index })
      const gone = bytes
        .toString("latin1")
        .split("\0")
        .filter((record) => record.startsWith("160000 "))
        .map((record) => `0 ${"0".repeat(40)}${record.slice(record.indexOf("\t"))}\0`)
      const stdin = Buffer.from(gone.join(""), "latin1")
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
    return Effect.map(this.run(["ls-files", "-z"], { index }), ({ bytes }) => new Set(texts(bytes)))
  }

  /** Which of the paths the workspace's own repository tracks; none where it is none. */
  readonly tracked = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    ReadonlySet<string> | undefined,
    GitFailed
  > {
    if (!this.isRepository) return undefined
    const { program, root, timeoutMs } = this.options
    const { bytes } = yield* git({ program, cwd: root, args: ["ls-files", "-z", "--", "."], timeoutMs })
    return new Set(texts(bytes))
  })

  /** Runs git on this repository. */
  run(
    args: ReadonlyArray<string>,
    more: {
      readonly index?: string
      readonly stdin?: Buffer
      readonly accept?: ReadonlyArray<number>
      readonly maxBytes?: number
    } = {}
  ): Effect.Effect<GitOutput, GitFailed> {
    const { program, root, timeoutMs } = this.options
    const { index, ...limits } = more
    return git({
      program,
      // Trees are compared after a worktree is gone, too.
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

/** What git ends each with a zero byte. */
export const texts = (bytes: Buffer): ReadonlyArray<string> => {
  const all = bytes.toString("utf8").split("\0")
  all.pop()
  return all
}
