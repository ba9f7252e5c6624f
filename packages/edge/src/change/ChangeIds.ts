/** Ids of change sets, of their files and hunks, and of versions: hashes of bytes. Pure. */
import type { ChangedFileId, ChangeHunkId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import { createHash } from "node:crypto"
import type { PatchHunk } from "../workspace/PatchHunks.ts"
import type { TreeChange, TreeEntry } from "../workspace/TreeDiff.ts"

const DIGITS = 32

const hashOf = (...parts: ReadonlyArray<string | Buffer>): string => {
  const hash = createHash("sha256")
  // The length of each part: no two lists of parts have the same bytes.
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest("hex").slice(0, DIGITS)
}

/** The set of a layer, a worktree or a run, by the run that owns it. */
export const changeSetIdOf = (owner: RunId): ChangeSetId => owner.replace(/^run_/, "chs_") as ChangeSetId

/** The set of a run. A layer is recorded in its run, as a worktree is. */
export const setOfRun = ({
  id,
  layer,
  worktree
}: {
  readonly id: RunId
  readonly worktree?: RunId
  readonly layer?: { readonly owner: RunId }
}): ChangeSetId => changeSetIdOf(worktree ?? layer?.owner ?? id)

export const fileIdOf = (path: Buffer): ChangedFileId => hashOf("file", path) as ChangedFileId

const entryText = (entry: TreeEntry | undefined): string =>
  entry === undefined ? "" : `${entry.mode} ${entry.id}`

/** Hash of what is undecided of a file. */
export const fileVersionOf = ({ after, before, fromPath = Buffer.alloc(0), path }: TreeChange): string =>
  hashOf("version", path, fromPath, entryText(before), entryText(after))

/** Hash of the content and mode that a change gives a file; `undefined` if it is deleted. */
export const resultOf = ({ after }: TreeChange): string | undefined =>
  after === undefined ? undefined : hashOf("result", entryText(after))

/** The one hunk of a file that is decided as a whole. */
export const wholeHunkIdOf = (change: TreeChange): ChangeHunkId =>
  hashOf("whole", fileIdOf(change.path), fileVersionOf(change)) as ChangeHunkId

/** What a hunk removes and adds, with its context. Equal hunks of a file have the same. */
export const hunkTextOf = (path: Buffer, { lines }: PatchHunk): string =>
  hashOf("text", fileIdOf(path), ...lines.flatMap(({ bytes, kind }) => [kind, bytes]))

export const hunkIdOf = (text: string, number: number): ChangeHunkId =>
  hashOf("hunk", text, String(number)) as ChangeHunkId

/** Hash of base and result. */
export const setVersionOf = (base: string, result: string): string => hashOf("set", base, result)

/** SHA-256 of what a decision changes in the base: for each path its entry before and after. */
export const patchHashOf = (
  paths: ReadonlyArray<{
    readonly path: Buffer
    readonly before: TreeEntry | undefined
    readonly after: TreeEntry | undefined
  }>
): string => {
  const hash = createHash("sha256")
  for (const { after, before, path } of paths.toSorted((a, b) => Buffer.compare(a.path, b.path)))
    hash
      .update(`${path.length}:`)
      .update(path)
      .update(`${entryText(before)}>${entryText(after)}\n`)
  return hash.digest("hex")
}
