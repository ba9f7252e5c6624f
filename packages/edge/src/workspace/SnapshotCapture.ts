/**
 * Capture of a workspace's state as an index file. git walks the tree, in one process if nothing is unusual: it starts from the newest index, so that it
 * reads only changes. The first index is made of the repository's own. Where something blocks git, the Edge walks the tree itself.
 *
 * Guarantees: repositories inside the tree are parts of it. What is not in the state is named.
 */
import { Clock, Effect } from "effect"
import { randomUUID } from "node:crypto"
import {
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import {
  type CaptureInProgress,
  type SnapshotView,
  entriesIn,
  ignoreOptions,
  mayHaveInner,
  replaceEntries,
  secondsOf
} from "./CaptureInProgress.ts"
import { captureCarefully } from "./CarefulCapture.ts"
import { GitFailed, MAX_WARNINGS, attemptFiles } from "./Git.ts"
import {
  FILE_MODE,
  type IndexEntry,
  LINK_MODE,
  PROGRAM_MODE,
  REPOSITORY_MODE,
  changedNs,
  entryMode,
  entrySize,
  oidOf,
  plainEntry,
  readIndex,
  writeIndex
} from "./IndexFile.ts"
import { pathText } from "./PathText.ts"
import { MAX_INDEX, type ShadowRepository, zeroTerminated } from "./ShadowRepository.ts"
import { type SnapshotTree, hasBlockedRules } from "./SnapshotTree.ts"
import { smallFileBytes } from "./UntrustedFiles.ts"

// Repositories inside a tree, as parts of it. git records only the commit of such a repository, unless its index already has a file in that
// folder: then the folder is one like any other. So each gets an entry that is no file, which git removes when it has read the folder.
//
// Guarantees: git never runs inside an inner repository, where its settings would count.

/** The empty file. */
const EMPTY = Buffer.from("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "hex")
/** A name that no file has by accident. */
const NO_FILE = Buffer.from("/\u0001corral")

const isInner = (entry: IndexEntry): boolean => entryMode(entry) === REPOSITORY_MODE

const innerRepositories = (entries: ReadonlyArray<IndexEntry>): ReadonlyArray<Buffer> =>
  entries.filter(isInner).map(({ path }) => path)

const withoutInner = (entries: ReadonlyArray<IndexEntry>): ReadonlyArray<IndexEntry> =>
  entries.filter((entry) => !isInner(entry))

/** Entries by which git reads the folders of these repositories. */
const withInnerFolders = (
  entries: ReadonlyArray<IndexEntry>,
  folders: ReadonlyArray<Buffer>
): ReadonlyArray<IndexEntry> => {
  const names = new Set(folders.map((folder) => folder.toString("latin1")))
  return [
    // A file of that name was there before the folder.
    ...entries.filter((entry) => !isInner(entry) && !names.has(entry.path.toString("latin1"))),
    ...folders.map((folder) => plainEntry(Buffer.concat([folder, NO_FILE]), FILE_MODE, EMPTY))
  ]
}

// A state of a tree by git, in one process if nothing is unusual, and once more for each level of repositories inside the tree.
//
// Does not: survive a tree that blocks git. `CarefulCapture` does.

/** As deep as repositories may be inside one another. */
const MAX_NESTING = 32

/** Many contents in one pack. Otherwise each has a file. */
const PACKED = ["-c", "core.bigFileThreshold=1", "-c", "pack.compression=1"]

const isolateOf = ({ view, workTree }: CaptureInProgress) => view?.enter?.(workTree)

const addAll = (capture: CaptureInProgress) => {
  const { shadow, tree, work, workTree } = capture
  const path = tree.prefix === "" ? "." : tree.prefix.slice(0, -1)
  // 1: a file could not be read, or is a repository without a commit. The rest is in the index.
  const packed = existsSync(work) ? [] : PACKED
  return shadow.run([...ignoreOptions(shadow), ...packed, "add", "-A", "--ignore-errors", "--", path], {
    index: work,
    workTree,
    isolate: isolateOf(capture),
    accept: [0, 1]
  })
}

const list = Effect.fnUntraced(function* (capture: CaptureInProgress, option: "--others" | "--modified") {
  const { shadow, tree, work, workTree } = capture
  const excluding = option === "--others" ? ["--exclude-standard"] : []
  const path = tree.prefix === "" ? "." : tree.prefix.slice(0, -1)
  const args = [...ignoreOptions(shadow), "ls-files", "-z", option, ...excluding, "--", path]
  return zeroTerminated(
    (yield* shadow.run(args, { index: work, workTree, isolate: isolateOf(capture) })).bytes
  )
})

const SLASH = 0x2f

/** What `git add` did not accept: repositories without a commit, files that it could not read, and files that are no longer files. */
const refused = Effect.fnUntraced(function* (capture: CaptureInProgress) {
  const others = yield* list(capture, "--others")
  const modified = yield* list(capture, "--modified")
  const folders = others.filter((path) => path.at(-1) === SLASH).map((path) => path.subarray(0, -1))
  const top = Buffer.from(`${capture.tree.top}/`)
  const isFile = (path: Buffer): boolean => {
    const stats = lstatSync(Buffer.concat([top, path]), { throwIfNoEntry: false })
    return stats?.isFile() === true || stats?.isSymbolicLink() === true
  }
  const missing = new Set(modified.filter((path) => !isFile(path)).map((path) => path.toString("latin1")))
  const unread = [...others.filter((path) => path.at(-1) !== SLASH), ...modified.filter(isFile)]
  return { folders, missing, unread }
})

/** git skips a folder that it cannot read, and succeeds. The names of such folders are found without git. */
const hasUnreadFolder = (warnings: string): boolean =>
  warnings.includes("could not open directory") || warnings.length >= MAX_WARNINGS

/** git walks the tree, again for each level of repositories inside it. */
const captureWithGit = Effect.fnUntraced(function* (
  capture: CaptureInProgress
): Effect.fn.Return<ReadonlyArray<Buffer>, GitFailed> {
  const { work } = capture
  const read = new Set<string>()
  for (let level = 0; ; level++) {
    const { code, warnings } = yield* addAll(capture)
    if (hasUnreadFolder(warnings)) return yield* new GitFailed({ message: "a folder could not be read" })
    const isPartial = code !== 0
    // git writes no index for an empty folder.
    if (!existsSync(work)) yield* attemptFiles(() => writeFileSync(work, writeIndex([])))
    const hasInner = mayHaveInner(work)
    if (!isPartial && !hasInner) return []
    const { folders, missing, unread } = isPartial
      ? yield* refused(capture)
      : { folders: [], missing: new Set<string>(), unread: [] }
    const entries = entriesIn(work).filter(({ path }) => !missing.has(path.toString("latin1")))
    const inner = [...innerRepositories(entries), ...folders]
    const fresh = inner.filter((path) => !read.has(path.toString("latin1")))
    for (const path of fresh) read.add(path.toString("latin1"))
    const isLast = fresh.length === 0 || level === MAX_NESTING
    const next = isLast ? withoutInner(entries) : withInnerFolders(entries, inner)
    if (missing.size > 0 || inner.length > 0)
      yield* attemptFiles(() => replaceEntries(work, next, secondsOf(work)))
    if (!isLast) continue
    // A repository without a file leaves nothing out.
    return [
      ...unread,
      ...(fresh.length === 0 ? [] : inner.map((path) => Buffer.concat([path, Buffer.from("/")])))
    ]
  }
})

// The first state of a workspace, from the index of its repository: git then reads only files that changed since a person's last `git add` or
// `git status`.
//
// Guarantees: the index is untrusted, and is used as far as it holds: an entry needs an ordinary mode, and a content in the object store that has the
// size of the file. So files that git stores converted (line ends, large files elsewhere) are read from the tree.
// Does not: compare the content. As for git itself, an entry with the times of its file has the content of its file.

interface FirstEntries {
  readonly entries: ReadonlyArray<IndexEntry>
  /** Time of the index in seconds, never later than it is. */
  readonly seconds: number
}

const MODES: ReadonlySet<number> = new Set([FILE_MODE, PROGRAM_MODE, LINK_MODE])
const MODULUS = 0x1_0000_0000

const isInside = ({ path }: IndexEntry, folder: Buffer): boolean =>
  folder.length === 0 || path.subarray(0, folder.length).equals(folder)

const readEntries = ({ prefix, repository }: SnapshotTree): FirstEntries | undefined => {
  if (repository === undefined) return undefined
  const file = join(repository.folder, "index")
  // The time before the content: an index that is replaced in between only has more to compare.
  const time = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const bytes = smallFileBytes(file, MAX_INDEX)
  const start = Buffer.from(prefix)
  const entries = (bytes && readIndex(bytes))?.filter(
    (entry) => MODES.has(entryMode(entry)) && isInside(entry, start)
  )
  return entries === undefined || entries.length === 0
    ? undefined
    : { entries, seconds: Math.floor(time * 1_000) / 1_000_000 }
}

/** The ids of the contents, one a line. */
const idLines = (entries: ReadonlyArray<IndexEntry>): Buffer =>
  Buffer.from(Buffer.concat(entries.map(oidOf)).toString("hex").replaceAll(/.{40}/g, "$&\n"))

/** `undefined` if the repository has no index that can be used. */
const firstEntries = Effect.fn("SnapshotCapture.read")(function* (
  shadow: ShadowRepository,
  tree: SnapshotTree
): Effect.fn.Return<FirstEntries | undefined, GitFailed> {
  const first = readEntries(tree)
  if (first === undefined) return undefined
  const stdin = idLines(first.entries)
  const args = ["cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)"]
  const { bytes } = yield* shadow.run(args, { stdin })
  const checked = bytes.toString("latin1").split("\n")
  const entries = first.entries.filter((entry, at) => {
    const [type, size] = checked[at]?.split(" ") ?? []
    return type === "blob" && Number(size) % MODULUS === entrySize(entry)
  })
  return { ...first, entries }
})

export interface Captured {
  /** Paths that are not in the state, sorted. A folder ends with a slash. */
  readonly leftOut: ReadonlyArray<string>
}

/** A workspace that the repository around it ignores has none of its rules. */
const chooseTree = Effect.fnUntraced(function* (
  shadow: ShadowRepository
): Effect.fn.Return<SnapshotTree, GitFailed> {
  const tree = yield* attemptFiles(() => shadow.open())
  if (tree.prefix === "") return tree
  const args = ["check-ignore", "-q", "--no-index", "--", `./${tree.prefix.slice(0, -1)}`]
  const isPart = yield* shadow
    .run([...ignoreOptions(shadow), ...args], { workTree: tree.top, accept: [1], hasPatterns: true })
    .pipe(
      Effect.as(true),
      Effect.orElseSucceed(() => false)
    )
  return isPart ? tree : yield* attemptFiles(() => shadow.openApart())
})

/** Longer than a git process lives. */
const UNFINISHED_MS = 600_000

/** Removes packs of a git that was killed. */
const removeUnfinished = (folder: string, nowMs: number): void => {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    if (!name.startsWith("tmp_")) continue
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    const isOld = stats !== undefined && stats.mtimeMs < nowMs - UNFINISHED_MS
    if (isOld) rmSync(join(folder, name), { force: true })
  }
}

/** Prepares the index in progress: the newest one, or the first one. */
const begin = Effect.fnUntraced(function* ({
  shadow,
  tree,
  view,
  work
}: CaptureInProgress): Effect.fn.Return<void, GitFailed> {
  const ofView = shadow.newest(tree, view?.name)
  const newest = existsSync(ofView) ? ofView : shadow.newest(tree)
  const nowMs = yield* Clock.currentTimeMillis
  yield* attemptFiles(() => removeUnfinished(join(shadow.objects, "pack"), nowMs))
  if (!existsSync(newest)) {
    const first = yield* firstEntries(shadow, tree)
    if (first !== undefined) yield* attemptFiles(() => replaceEntries(work, first.entries, first.seconds))
    return
  }
  yield* attemptFiles(() => {
    // A link, not a copy: git uses the time of an index to decide which entries it may trust.
    linkSync(newest, work)
    // git would run inside a repository that the index has. Indexes of earlier versions have some.
    if (!mayHaveInner(work)) return
    const entries = entriesIn(work)
    if (innerRepositories(entries).length > 0) replaceEntries(work, withoutInner(entries), secondsOf(work))
  })
})

/** Entries whose files may have changed after the index was written have no times, so that they are read again. */
const earlierEntries = (index: string): ReadonlyMap<string, IndexEntry> => {
  if (!existsSync(index)) return new Map()
  const written = statSync(index, { bigint: true }).mtimeNs
  return new Map(
    withoutInner(entriesIn(index)).map((entry) => {
      const { path } = entry
      const isNewer = changedNs(entry) < written
      return [path.toString("latin1"), isNewer ? entry : plainEntry(path, entryMode(entry), oidOf(entry))]
    })
  )
}

/** The Edge walks the tree. */
const captureAlone = Effect.fnUntraced(function* ({
  shadow,
  tree,
  work
}: CaptureInProgress): Effect.fn.Return<ReadonlyArray<Buffer>, GitFailed> {
  const mirror = `${work}.rules`
  writeFileSync(`${work}.now`, "")
  const seconds = secondsOf(`${work}.now`)
  const state = yield* captureCarefully({
    tree,
    earlier: earlierEntries(work),
    mirror,
    objects: shadow.objects,
    ignored: (stdin) => {
      const args = [...ignoreOptions(shadow), "check-ignore", "-z", "--stdin", "--no-index"]
      return Effect.map(
        shadow.run(args, {
          workTree: mirror,
          index: `${work}.none`,
          stdin,
          accept: [0, 1],
          hasPatterns: true
        }),
        ({ bytes }) => bytes
      )
    }
  })
  yield* attemptFiles(() => {
    replaceEntries(work, state.entries, seconds)
    shadow.setHostile(state.isHostile || !shadow.borrowsFrom(tree))
  })
  return state.leftOut
})

const fill = (capture: CaptureInProgress): Effect.Effect<ReadonlyArray<Buffer>, GitFailed> => {
  const { shadow, tree } = capture
  const alone = Effect.suspend(() => {
    // From here on, the objects of the workspace's repository are looked at more closely.
    shadow.setHostile(true)
    const again = { ...capture, tree: shadow.reopen(tree) }
    rmSync(capture.work, { force: true })
    rmSync(`${capture.work}.lock`, { force: true })
    return Effect.andThen(begin(again), captureAlone(again))
  })
  if (existsSync(shadow.hostile) || hasBlockedRules(tree)) return alone
  return Effect.andThen(begin(capture), captureWithGit(capture)).pipe(Effect.catch(() => alone))
}

/** Makes the state the newest one, and the one at `index`. */
const publish = ({ shadow, tree, view, work }: CaptureInProgress, index: string | undefined): void => {
  const newest = shadow.newest(tree, view?.name)
  const next = `${work}.newest`
  linkSync(work, next)
  renameSync(next, newest)
  // A rename between two names of the same file has no effect.
  rmSync(next, { force: true })
  if (index === undefined) return
  rmSync(index, { force: true })
  if (tree.prefix === "") return linkSync(newest, index)
  const prefix = Buffer.from(tree.prefix)
  const inside = entriesIn(work).filter(({ path }) => path.subarray(0, prefix.length).equals(prefix))
  writeFileSync(
    index,
    writeIndex(inside.map((entry) => ({ ...entry, path: entry.path.subarray(prefix.length) })))
  )
}

/** The tree where a view shows it. */
const treeIn = (
  tree: SnapshotTree,
  view: SnapshotView | undefined
): Pick<CaptureInProgress, "tree" | "workTree"> => {
  if (view === undefined) return { tree, workTree: tree.top }
  const { folder } = view
  return folder === undefined
    ? { tree: { ...tree, top: view.at(tree.top) }, workTree: tree.top }
    : { tree: { ...tree, top: folder, prefix: "" }, workTree: folder }
}

/** Writes the current state into the index file that `indexOf` names at the end; `undefined`: it is only the start of the next state. */
export const captureState = Effect.fn("SnapshotCapture.capture")(function* (
  shadow: ShadowRepository,
  indexOf: () => string | undefined,
  view?: SnapshotView
): Effect.fn.Return<Captured, GitFailed> {
  const { tree, workTree } = treeIn(yield* chooseTree(shadow), view)
  const work = join(shadow.folder, `work-${randomUUID()}`)
  const capture: CaptureInProgress = { shadow, tree, workTree, view, work }
  const taken = Effect.gen(function* () {
    const leftOut = yield* fill(capture)
    yield* attemptFiles(() => publish(capture, indexOf()))
    const texts = leftOut.map((path) => pathText(path))
    const inside = texts.flatMap((path) =>
      path.startsWith(tree.prefix) ? [path.slice(tree.prefix.length)] : []
    )
    return { leftOut: [...new Set(inside)].toSorted() }
  })
  return yield* Effect.ensuring(
    taken,
    Effect.sync(() => {
      for (const end of ["", ".lock", ".next", ".newest", ".now", ".rules"])
        rmSync(`${work}${end}`, { recursive: true, force: true })
    })
  )
})
