/**
 * A state of a tree by git, in one process if nothing is unusual, and once more for each level of repositories inside the tree.
 *
 * Does not: survive a tree that blocks git. `CarefulCapture` does.
 */
import { Effect } from "effect"
import { existsSync, lstatSync, writeFileSync } from "node:fs"
import {
  type CaptureInProgress,
  entriesIn,
  mayHaveInner,
  replaceEntries,
  ignoreOptions,
  secondsOf
} from "./CaptureInProgress.ts"
import { attemptFiles, GitFailed, MAX_WARNINGS } from "./Git.ts"
import { writeIndex } from "./IndexFile.ts"
import { innerRepositories, withInnerFolders, withoutInner } from "./InnerRepositories.ts"
import { zeroTerminated } from "./ShadowRepository.ts"

/** As deep as repositories may be inside one another. */
const MAX_NESTING = 32

/** Many contents in one pack. Otherwise each has a file. */
const PACKED = ["-c", "core.bigFileThreshold=1", "-c", "pack.compression=1"]

const addAll = ({ shadow, tree, work }: CaptureInProgress) => {
  const path = tree.prefix === "" ? "." : tree.prefix.slice(0, -1)
  // 1: a file could not be read, or is a repository without a commit. The rest is in the index.
  const packed = existsSync(work) ? [] : PACKED
  return shadow.run([...ignoreOptions(shadow), ...packed, "add", "-A", "--ignore-errors", "--", path], {
    index: work,
    workTree: tree.top,
    accept: [0, 1]
  })
}

const list = Effect.fnUntraced(function* (
  { shadow, tree, work }: CaptureInProgress,
  option: "--others" | "--modified"
) {
  const excluding = option === "--others" ? ["--exclude-standard"] : []
  const path = tree.prefix === "" ? "." : tree.prefix.slice(0, -1)
  const args = [...ignoreOptions(shadow), "ls-files", "-z", option, ...excluding, "--", path]
  return zeroTerminated((yield* shadow.run(args, { index: work, workTree: tree.top })).bytes)
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
export const captureWithGit = Effect.fnUntraced(function* (
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
