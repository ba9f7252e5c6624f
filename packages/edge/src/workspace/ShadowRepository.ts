/**
 * The Edge's own repository for a workspace, with the workspace as its work tree. It stores states of the workspace as git trees.
 *
 * Guarantees: nothing is written into the workspace or its repository, and a file there that blocks git blocks it for less than a second. A state
 * is first an index file; its tree is written on demand.
 * Does not: copy objects of the workspace's repository. If that loses them, the states lose them too.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { type Dirent, existsSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { isAbsolute, join } from "node:path"
import { attemptFiles, type GitCall, type GitFailed, type GitOutput, git } from "./Git.ts"
import { readIndex } from "./IndexFile.ts"
import { storeSmallTree } from "./LooseObject.ts"
import { pathText } from "./PathText.ts"
import { folderEntries, smallFile, smallFileBytes } from "./UntrustedFiles.ts"
import { MAX_RULES, type SnapshotTree, plainTree, snapshotTreeOf } from "./SnapshotTree.ts"
import { borrowedObjectsOf } from "./WorktreeRows.ts"

// Check of an object store that git would read: all that git opens there is regular. A store of a workspace is untrusted.
//
// Does not: check the content of objects.

/** As deep as git follows stores that a store names. */
const MAX_DEPTH = 5
const MAX_NAMES = 200_000

const isRegular = (entry: Dirent): boolean => {
  if (!entry.isSymbolicLink()) return entry.isFile() || entry.isDirectory()
  try {
    return statSync(join(entry.parentPath, entry.name)).isFile()
  } catch {
    return true
  }
}

const isLoose = /^[0-9a-f]{2}$/

/** Folders of a store whose entries git opens. Loose objects only if `isThorough`: there may be many. */
const openedFolders = (objects: string, isThorough: boolean): ReadonlyArray<string> => [
  join(objects, "info"),
  join(objects, "info", "commit-graphs"),
  join(objects, "pack"),
  ...(isThorough
    ? folderEntries(objects).flatMap(({ name }) => (isLoose.test(name) ? [join(objects, name)] : []))
    : [])
]

/** Stores that a store names; `undefined` if the list cannot be read. */
const namedStores = (objects: string): ReadonlyArray<string> | undefined => {
  const file = join(objects, "info", "alternates")
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return []
  return smallFile(file)
    ?.split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => (isAbsolute(line) ? line : join(objects, line)))
}

/** Whether git can read the store without waiting. A thorough check reads the names of all objects. */
const isReadableStore = (objects: string, isThorough: boolean): boolean => {
  let level: ReadonlyArray<string> = [objects]
  let names = 0
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next: Array<string> = []
    for (const store of level) {
      const entries = openedFolders(store, isThorough).flatMap(folderEntries)
      names += entries.length + 1
      if (names > MAX_NAMES || !entries.every(isRegular)) return false
      const named = namedStores(store)
      if (named === undefined) return false
      next.push(...named)
    }
    level = next
  }
  return true
}

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

export interface ShadowCall {
  readonly index?: string
  readonly stdin?: Buffer
  readonly accept?: ReadonlyArray<number>
  readonly maxBytes?: number
  /** Folder that git reads. Default: the repository itself, where only states are compared. */
  readonly workTree?: string
  /** Whether paths are patterns. */
  readonly hasPatterns?: boolean
  /** The command where it sees the folder. */
  readonly isolate?: GitCall["isolate"]
}

/** Paths without review, in a workspace that has no repository with ignore rules. */
const IGNORED = ["node_modules/", ".venv/", "__pycache__/", ".gradle/", ".DS_Store"]
/** Begins the names of folders with versions of files that a decision or a merge writes beside them. */
export const DECISION_FOLDER = ".corral-chd_"
/** The last rule counts. */
const DECISION_FILES = `${DECISION_FOLDER}*/`
/** Largest index that is read. */
export const MAX_INDEX = 33_554_432

export class ShadowRepository {
  readonly folder: string
  readonly root: string
  private readonly options: ShadowOptions

  constructor(options: ShadowOptions) {
    this.options = options
    this.root = options.root
    this.folder = join(options.folder, createHash("sha256").update(options.root).digest("hex").slice(0, 16))
  }

  /** File of a run's states. */
  fileOf(runId: string, what: string): string {
    return join(this.folder, "runs", `${runId}.${what}`)
  }

  /** Folder of the contents. */
  get objects(): string {
    return join(this.folder, "objects")
  }

  /** Names of ignored files, for `core.excludesFile`. */
  get rules(): string {
    return join(this.folder, "ignored")
  }

  /** Says that something in the workspace blocks git. */
  get hostile(): string {
    return join(this.folder, "hostile")
  }

  /** Creates the repository if it is missing, without git, and reads where the workspace's repository is now. */
  open(): SnapshotTree {
    rmSync(this.apart, { force: true })
    return this.reopen(snapshotTreeOf(this.root))
  }

  /** Opens it for a workspace without the repository around it. */
  openApart(): SnapshotTree {
    writeFileSync(this.apart, "")
    return this.reopen(plainTree(this.root))
  }

  /** Opens it for a tree. */
  reopen(tree: SnapshotTree): SnapshotTree {
    if (!existsSync(join(this.folder, "HEAD"))) {
      for (const inner of ["objects/info", "refs", "info", "runs"]) makeFolder(join(this.folder, inner))
      // Attributes of the workspace would change the stored content. Bytes are stored unchanged.
      writeFileSync(join(this.folder, "info/attributes"), "* -text -ident -filter -working-tree-encoding\n")
      writeFileSync(join(this.folder, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
      writeFileSync(join(this.folder, "HEAD"), "ref: refs/heads/none\n")
    }
    const exclude = tree.repository && smallFile(join(tree.repository.common, "info/exclude"), MAX_RULES)
    const rules = tree.repository === undefined ? `${IGNORED.join("\n")}\n` : (exclude ?? "")
    writeChanged(this.rules, `${rules}\n${DECISION_FILES}\n`)
    this.borrowObjects(tree)
    return tree
  }

  /** Says that the repository around the workspace ignores it. */
  private get apart(): string {
    return join(this.folder, "apart")
  }

  /**
   * Lets git read the objects of the workspace's repository, unless it would wait there. The objects of a run's own repository go with its
   * worktree: its owner's objects remain.
   */
  private borrowObjects({ repository }: SnapshotTree): void {
    const objects = borrowedObjectsOf(this.root) ?? (repository && join(repository.common, "objects"))
    const isFolder =
      objects !== undefined && statSync(objects, { throwIfNoEntry: false })?.isDirectory() === true
    const isUsable = isFolder && isReadableStore(objects, existsSync(this.hostile))
    writeChanged(this.alternates, isUsable ? `${objects}\n` : "")
  }

  /** Whether git reads all objects that the tree's repository has. */
  borrowsFrom({ repository }: SnapshotTree): boolean {
    return repository === undefined || statSync(this.alternates).size > 0
  }

  private get alternates(): string {
    return join(this.folder, "objects/info/alternates")
  }

  /** The index that the next state starts from. States that need other objects, or another tree, start from another. */
  newest({ prefix }: SnapshotTree, view?: string): string {
    const suffix = statSync(this.alternates).size === 0 ? ".own" : ""
    const inner = prefix === "" ? "" : `.${createHash("sha256").update(prefix).digest("hex").slice(0, 8)}`
    return join(this.folder, `index${suffix}${inner}${view === undefined ? "" : `.${view}`}`)
  }

  /** The tree of a captured state. */
  treeOf(index: string): Effect.Effect<string, GitFailed> {
    return Effect.flatMap(
      attemptFiles(() => storeSmallTree(this.objects, index)),
      (tree) =>
        tree === undefined
          ? Effect.map(this.run(["write-tree", "--missing-ok"], { index }), ({ bytes }) =>
              bytes.toString("latin1").trim()
            )
          : Effect.succeed(tree)
    )
  }

  /** Paths of a captured state. */
  pathsOf(index: string): ReadonlySet<string> {
    return new Set(readIndex(readFileSync(index))?.map(({ path }) => pathText(path)))
  }

  /** The paths that the workspace's repository tracks; `undefined` without a repository, or if its index cannot be read. */
  tracked(): ReadonlySet<string> | undefined {
    const { prefix, repository } = existsSync(this.apart) ? plainTree(this.root) : snapshotTreeOf(this.root)
    const bytes = repository && smallFileBytes(join(repository.folder, "index"), MAX_INDEX)
    const paths = (bytes && readIndex(bytes))?.map(({ path }) => pathText(path))
    return (
      paths && new Set(paths.flatMap((path) => (path.startsWith(prefix) ? [path.slice(prefix.length)] : [])))
    )
  }

  /** Runs git on the shadow repository. One that stalls makes the next states careful. */
  run(args: ReadonlyArray<string>, call: ShadowCall = {}): Effect.Effect<GitOutput, GitFailed> {
    const { launchers, program, timeoutMs } = this.options
    const { hasPatterns, index, workTree = this.folder, ...limits } = call
    return git({
      program,
      launchers,
      cwd: workTree,
      args,
      timeoutMs,
      watched: workTree,
      env: {
        GIT_DIR: this.folder,
        GIT_WORK_TREE: workTree,
        ...(hasPatterns === true ? { GIT_LITERAL_PATHSPECS: "0" } : {}),
        ...(index === undefined ? {} : { GIT_INDEX_FILE: index })
      },
      ...limits
    }).pipe(Effect.tapError(({ end }) => Effect.sync(() => end === "stalled" && this.setHostile(true))))
  }

  /** Forgets that something blocks git, or records it. */
  setHostile(isHostile: boolean): void {
    if (isHostile) writeFileSync(this.hostile, "")
    else rmSync(this.hostile, { force: true })
  }
}

const writeChanged = (file: string, text: string): void => {
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text)
}

/** Records that git ends with a zero byte. */
export const splitZeroTerminated = (bytes: Buffer): ReadonlyArray<string> => {
  return zeroTerminated(bytes).map((record) => pathText(record))
}

/** Records that git ends with a zero byte, in bytes. */
export const zeroTerminated = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const records: Array<Buffer> = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0, at)
    if (end === -1) break
    records.push(bytes.subarray(at, end))
    at = end + 1
  }
  return records
}
