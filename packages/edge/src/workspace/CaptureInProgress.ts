/**
 * The index of a capture in progress: a file that git and the Edge change in turns.
 *
 * Guarantees: a file that the Edge replaces has a time that is not newer than what it says, because git trusts entries that are older than it.
 */
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { type IndexEntry, readIndex, writeIndex } from "./IndexFile.ts"
import type { IsolatedCommand } from "./Git.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"
import type { SnapshotTree } from "./SnapshotTree.ts"

/** Another state of a workspace's files than that of its folder: the files of a layer. */
export interface SnapshotView {
  /** Of its newest state, which starts from that of the workspace. */
  readonly name: string
  /** Where the Edge's own code finds a path of the tree. */
  readonly at: (path: string) => string
  /** A command that sees the files at their own paths, and starts in this folder. */
  readonly enter?: ((folder: string) => (command: IsolatedCommand) => IsolatedCommand) | undefined
  /** Folder with the files, if no command can see them at their own paths. */
  readonly folder?: string | undefined
}

export interface CaptureInProgress {
  readonly shadow: ShadowRepository
  /** As the Edge's own code reads it. */
  readonly tree: SnapshotTree
  /** Top of the tree, as git reads it. */
  readonly workTree: string
  readonly view: SnapshotView | undefined
  /** The index in progress. */
  readonly work: string
}

/** The mode of a repository in an index, 160000 in octal. */
const REPOSITORY = Buffer.from([0, 0, 0xe0, 0])

export const entriesIn = (index: string): ReadonlyArray<IndexEntry> =>
  existsSync(index) ? (readIndex(readFileSync(index)) ?? []) : []

/** Replaces the entries. Files that changed since `seconds` are compared by their content. */
export const replaceEntries = (index: string, entries: ReadonlyArray<IndexEntry>, seconds: number): void => {
  writeFileSync(`${index}.next`, writeIndex(entries))
  utimesSync(`${index}.next`, seconds, seconds)
  renameSync(`${index}.next`, index)
}

/** Time of a file, never later than it is. */
export const secondsOf = (file: string): number => Math.floor(statSync(file).mtimeMs * 1_000) / 1_000_000

/** Whether an index may have repositories. Sure only if not. */
export const mayHaveInner = (index: string): boolean => readFileSync(index).includes(REPOSITORY)

/** Options of git for the rules of the workspace's repository. */
export const ignoreOptions = ({ rules }: ShadowRepository): ReadonlyArray<string> => [
  "-c",
  `core.excludesFile=${rules}`
]
