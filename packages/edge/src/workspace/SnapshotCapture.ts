/**
 * Capture of a workspace's state as an index file. git walks the tree, in one process if nothing is unusual: it starts from the newest index, so that it
 * reads only changes. The first index is made of the repository's own. Where something blocks git, the Edge walks the tree itself.
 *
 * Guarantees: repositories inside the tree are parts of it. What is not in the state is named.
 */
import { Clock, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  type CaptureInProgress,
  entriesIn,
  mayHaveInner,
  replaceEntries,
  ignoreOptions,
  secondsOf
} from "./CaptureInProgress.ts"
import { captureCarefully } from "./CarefulCapture.ts"
import { firstEntries } from "./FirstIndex.ts"
import { attemptFiles, type GitFailed } from "./Git.ts"
import { captureWithGit } from "./GitCapture.ts"
import { changedNs, entryMode, type IndexEntry, oidOf, plainEntry, writeIndex } from "./IndexFile.ts"
import { innerRepositories, withoutInner } from "./InnerRepositories.ts"
import { pathText } from "./PathText.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"
import { hasBlockedRules, type SnapshotTree } from "./SnapshotTree.ts"

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
  work
}: CaptureInProgress): Effect.fn.Return<void, GitFailed> {
  const newest = shadow.newest(tree)
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
const publish = ({ shadow, tree, work }: CaptureInProgress, index: string | undefined): void => {
  const newest = shadow.newest(tree)
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

/** Writes the current state into the index file that `indexOf` names at the end; `undefined`: it is only the start of the next state. */
export const captureState = Effect.fn("SnapshotCapture.capture")(function* (
  shadow: ShadowRepository,
  indexOf: () => string | undefined
): Effect.fn.Return<Captured, GitFailed> {
  const tree = yield* chooseTree(shadow)
  const work = join(shadow.folder, `work-${randomUUID()}`)
  const capture: CaptureInProgress = { shadow, tree, work }
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
