/** Plan of a change of several files of a folder, and its record in the journal. */
import type { ChangeDecisionId } from "@corral/domain/identity/Ids"
import type { Stats } from "node:fs"
import type { TreeEntry } from "../workspace/TreeDiff.ts"
import { type FolderFiles, foldersAround, type FoundFile } from "./FolderFiles.ts"

/** A path with its version before and after; none where there is no file. */
export interface FileStep {
  readonly path: Buffer
  readonly before: TreeEntry | undefined
  readonly after: TreeEntry | undefined
}

export interface TransactionPlan {
  readonly id: ChangeDecisionId
  /** Whether the folder had no entry before. */
  readonly wasEmpty: boolean
  /** Steps with the folder that has their versions: the nearest one on the same file system that exists. */
  readonly steps: ReadonlyArray<FileStep & { readonly beside: Buffer }>
  /** Empty folders that a file replaces, the innermost first. */
  readonly cleared: ReadonlyArray<Buffer>
  /** Folders that are missing, the outermost first. */
  readonly created: ReadonlyArray<Buffer>
}

export const isSameEntry = (one: TreeEntry | undefined, other: TreeEntry | undefined): boolean =>
  one?.mode === other?.mode && one?.id === other?.id

/** The entry of what was found; `undefined` if it is no file and no link. */
export const entryFound = (found: FoundFile): TreeEntry | undefined =>
  found.kind === "file" || found.kind === "link" ? found.entry : undefined

/** Facts of folders, read once. */
const folderFacts = (files: FolderFiles) => {
  const found = new Map<string, Stats | undefined>()
  return (folder: Buffer): Stats | undefined => {
    const key = folder.toString("latin1")
    if (!found.has(key)) found.set(key, files.stat(folder))
    return found.get(key)
  }
}

/** Plans the steps as the folder is now. Fails with the path at which they cannot be done. */
export const planTransaction = (
  id: ChangeDecisionId,
  files: FolderFiles,
  steps: ReadonlyArray<FileStep>
): TransactionPlan | { readonly blocked: Buffer } => {
  const top: Buffer = Buffer.alloc(0)
  const factsOf = folderFacts(files)
  const device = factsOf(top)?.dev
  const removed = new Set(
    steps.filter(({ before }) => before !== undefined).map(({ path }) => path.toString("latin1"))
  )
  const cleared: Array<Buffer> = []
  const created = new Map<string, Buffer>()
  const placed: Array<TransactionPlan["steps"][number]> = []
  for (const step of steps) {
    let beside: Buffer = top
    for (const folder of foldersAround(step.path)) {
      const stats = factsOf(folder)
      const isFolder = stats?.isDirectory() === true
      if (isFolder && stats.dev !== device && factsOf(beside)?.dev !== stats.dev) beside = folder
      if (isFolder || step.after === undefined) continue
      if (stats !== undefined && !removed.has(folder.toString("latin1"))) return { blocked: step.path }
      created.set(folder.toString("latin1"), folder)
    }
    if (
      step.after !== undefined &&
      step.before === undefined &&
      files.stat(step.path)?.isDirectory() === true
    ) {
      const folders = foldersWithout(files, step.path, removed)
      if (folders === undefined) return { blocked: step.path }
      cleared.push(...folders)
    }
    placed.push({ ...step, beside })
  }
  return {
    id,
    wasEmpty: files.list(top).length === 0,
    steps: placed,
    cleared,
    created: [...created.values()].toSorted((a, b) => a.length - b.length)
  }
}

/** Folders in a folder that has only these files, the innermost first. */
const foldersWithout = (
  files: FolderFiles,
  folder: Buffer,
  removed: ReadonlySet<string>
): ReadonlyArray<Buffer> | undefined => {
  const folders: Array<Buffer> = []
  for (const { isFolder, path } of files.list(folder)) {
    if (!isFolder && !removed.has(path.toString("latin1"))) return undefined
    const inner = isFolder ? foldersWithout(files, path, removed) : []
    if (inner === undefined) return undefined
    folders.push(...inner)
  }
  return [...folders, folder]
}

/** A journal's record of a plan. */
export interface RecordedPlan {
  readonly id: ChangeDecisionId
  /** Absent in journals of earlier Edges. */
  readonly wasEmpty?: boolean | undefined
  readonly steps: ReadonlyArray<{
    readonly path: string
    readonly beside: string
    readonly before?: TreeEntry | undefined
    readonly after?: TreeEntry | undefined
  }>
  readonly cleared: ReadonlyArray<string>
  readonly created: ReadonlyArray<string>
}

const hex = (path: Buffer): string => path.toString("hex")
const bytes = (path: string): Buffer => Buffer.from(path, "hex")

export const recordPlan = ({ cleared, created, id, steps, wasEmpty }: TransactionPlan): RecordedPlan => ({
  id,
  wasEmpty,
  steps: steps.map((step) => ({ ...step, path: hex(step.path), beside: hex(step.beside) })),
  cleared: cleared.map(hex),
  created: created.map(hex)
})

export const readPlan = ({
  cleared,
  created,
  id,
  steps,
  wasEmpty = false
}: RecordedPlan): TransactionPlan => ({
  id,
  wasEmpty,
  steps: steps.map(({ after, before, beside, path }) => ({
    path: bytes(path),
    beside: bytes(beside),
    before,
    after
  })),
  cleared: cleared.map(bytes),
  created: created.map(bytes)
})
