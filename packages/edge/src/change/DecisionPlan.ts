/**
 * What a decision changes: the parts that a request names, and for each path the step from the version that is there to the one that should be.
 *
 * Guarantees: a path changes only if it has the expected version, or if the person's version and the change merge without a conflict.
 */
import type { ChangeSelection, ConflictSides } from "@corral/domain/edge-api/ChangeSet"
import { ChangesOutdated, Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ChangedFileId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { GitFailed } from "../workspace/Git.ts"
import { applyHunks } from "../workspace/PatchHunks.ts"
import { pathText } from "../workspace/PathText.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import type { TreeChange, TreeEntry } from "../workspace/TreeDiff.ts"
import {
  type ComparedFile,
  type Comparison,
  type DecidedNumbers,
  type NumberedHunk,
  numberedHunks
} from "./ChangeComparison.ts"
import { fileVersionOf, wholeHunkIdOf } from "./ChangeIds.ts"
import { entryFound, type FileStep, isSameEntry } from "./TransactionPlan.ts"
import { FILE, FolderFiles, LINK } from "./FolderFiles.ts"
import { isText, mergedMode, mergeThreeWays } from "./ThreeWay.ts"
import { contentId, eachContent, MAX_CONTENT, readContent, storeContent } from "./TreeContents.ts"

/** A file of a decision. */
export interface SelectedFile {
  readonly file: ComparedFile
  /** All hunks of the file; none if it is decided as a whole. */
  readonly hunks: ReadonlyArray<NumberedHunk>
  /** The chosen ones. `undefined`: the whole file. */
  readonly chosen: ReadonlyArray<NumberedHunk> | undefined
}

const SHOWN_IDS = 100

const outdated = (files: ReadonlyArray<string>, hunks: ReadonlyArray<string>) =>
  new ChangesOutdated({ details: { files: files.slice(0, SHOWN_IDS), hunks: hunks.slice(0, SHOWN_IDS) } })

const empty = new SchemaValidationFailed({
  details: { issues: [{ path: "parts", message: "Name at least one file or hunk" }] }
})

type SelectionFailure = ChangesOutdated | Conflict | SchemaValidationFailed | GitFailed

/** The parts that a request names, in the order of their paths. */
export const selectParts = Effect.fn("DecisionPlan.select")(function* (
  shadow: ShadowRepository,
  comparison: Comparison,
  selection: ChangeSelection,
  decided: DecidedNumbers
): Effect.fn.Return<ReadonlyArray<SelectedFile>, SelectionFailure> {
  if ("all" in selection) {
    if (selection.version !== comparison.version) return yield* outdated([], [])
    if (comparison.incomplete.length > 0)
      return yield* new Conflict({
        message: "Some files could not be compared. Name the files that you decide.",
        details: { reason: "incomplete", paths: comparison.incomplete.slice(0, SHOWN_IDS) }
      })
    const files = comparison.files.filter(({ apart }) => apart.length === 0)
    return files.length === 0 ? yield* empty : yield* withHunks(shadow, files, decided)
  }
  const { files = [], hunks = [], versions = {} } = selection
  if (files.length + hunks.length === 0) return yield* empty
  const byId = new Map(comparison.files.map((file) => [file.id, file]))
  const stale = files.filter((id) => {
    const file = byId.get(id)
    const version = versions[id]
    return file === undefined || (version !== undefined && version !== fileVersionOf(file.change))
  })
  const named = new Set(files)
  const wanted = new Set<string>(hunks)
  const selected: Array<SelectedFile> = []
  const candidates =
    hunks.length === 0 ? comparison.files.filter(({ id }) => named.has(id)) : comparison.files
  for (const each of yield* withHunks(shadow, candidates, decided)) {
    const { file } = each
    const chosen = each.hunks.filter(({ id }) => wanted.delete(id))
    const isWhole = file.whole !== undefined && wanted.delete(wholeHunkIdOf(file.change))
    if (named.has(file.id) || isWhole || (chosen.length > 0 && chosen.length === each.hunks.length))
      selected.push(each)
    else if (chosen.length > 0) selected.push({ ...each, chosen })
  }
  return stale.length > 0 || wanted.size > 0 ? yield* outdated(stale, [...wanted]) : selected
})

const withHunks = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  files: ReadonlyArray<ComparedFile>,
  decided: DecidedNumbers
): Effect.fn.Return<ReadonlyArray<SelectedFile>, GitFailed> {
  const hunks = yield* numberedHunks(shadow, files, decided)
  return files.map((file) => ({ file, hunks: hunks.get(file.id) ?? [], chosen: undefined }))
})

/** A path with two versions of it. */
export interface PathChange {
  readonly fileId: ChangedFileId
  readonly path: Buffer
  readonly before: TreeEntry | undefined
  readonly after: TreeEntry | undefined
}

const pathsOf = (
  id: ChangedFileId,
  { after, before, fromPath, path }: TreeChange
): ReadonlyArray<PathChange> =>
  fromPath === undefined
    ? [{ fileId: id, path, before, after }]
    : [
        { fileId: id, path: fromPath, before, after: undefined },
        { fileId: id, path, before: undefined, after }
      ]

/** Selected files of which only some hunks count, with the versions that these make of the base. */
const partVersions = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>,
  applied: (file: SelectedFile, chosen: ReadonlyArray<NumberedHunk>) => ReadonlyArray<NumberedHunk>
): Effect.fn.Return<ReadonlyMap<SelectedFile, TreeEntry>, GitFailed> {
  const versions = new Map<SelectedFile, TreeEntry>()
  const byContent = new Map<string, Array<SelectedFile>>()
  for (const file of selected) {
    const id = file.chosen === undefined ? undefined : file.file.change.before?.id
    if (id !== undefined) byContent.set(id, [...(byContent.get(id) ?? []), file])
  }
  yield* eachContent(shadow, [...byContent.keys()], (id, content) =>
    Effect.forEach(
      byContent.get(id) ?? [],
      (file) => {
        const hunks = applied(file, file.chosen ?? []).map(({ hunk }) => hunk)
        const mode = file.file.change.before?.mode ?? FILE
        return Effect.map(storeContent(shadow, applyHunks(content, hunks)), (part) =>
          versions.set(file, { mode, id: part })
        )
      },
      { discard: true }
    )
  )
  return versions
})

/** What the chosen parts change in the base. */
export const acceptedPaths = (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>
): Effect.Effect<ReadonlyArray<PathChange>, GitFailed> =>
  Effect.map(
    partVersions(shadow, selected, (_, chosen) => chosen),
    (versions) =>
      selected.flatMap((each) => {
        const { change, id } = each.file
        const after = versions.get(each)
        return after === undefined
          ? pathsOf(id, change)
          : [{ fileId: id, path: change.path, before: change.before, after }]
      })
  )

/** What the result loses with the chosen parts. */
export const rejectedPaths = (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>
): Effect.Effect<ReadonlyArray<PathChange>, GitFailed> =>
  Effect.map(
    partVersions(shadow, selected, ({ hunks }, chosen) => hunks.filter((hunk) => !chosen.includes(hunk))),
    (versions) =>
      selected.flatMap((each) => {
        const { change, id } = each.file
        const after = versions.get(each)
        return after === undefined
          ? pathsOf(id, change).map(turned)
          : [{ fileId: id, path: change.path, before: change.after, after }]
      })
  )

/** The change in the other direction. */
export const turned = <
  A extends { readonly before?: TreeEntry | undefined; readonly after?: TreeEntry | undefined }
>(
  change: A
): A => ({ ...change, before: change.after, after: change.before })

/** Steps of paths that have to change, and the files that cannot. */
export interface PlannedSteps {
  readonly steps: ReadonlyArray<FileStep & { readonly fileId: ChangedFileId }>
  /** Each path with its versions before and after. Those without a step have the version already. */
  readonly paths: ReadonlyArray<PathChange>
  readonly conflicts: ReadonlyArray<ConflictSides>
}

/** Plans to give each path in the folder its version `after`. */
export const planSteps = Effect.fn("DecisionPlan.steps")(function* (
  shadow: ShadowRepository,
  folder: string,
  changes: ReadonlyArray<PathChange>
): Effect.fn.Return<PlannedSteps, GitFailed> {
  const files = new FolderFiles(folder)
  const steps: Array<FileStep & { readonly fileId: ChangedFileId }> = []
  const paths: Array<PathChange> = []
  const conflicts: Array<ConflictSides> = []
  for (const change of changes) {
    const found = files.look(change.path)
    const now = entryFound(found)
    const isFree = change.before === undefined && ["folder", "blocked"].includes(found.kind)
    const read = Effect.sync(() => files.read(change.path, MAX_CONTENT))
    const next =
      found.kind === "absent" || now !== undefined || isFree
        ? yield* nextEntry(shadow, change, now, read)
        : "conflict"
    if (next === "conflict") {
      conflicts.push(yield* sidesOf(shadow, change, files.read(change.path, MAX_SIDE)))
      continue
    }
    paths.push({ ...change, before: now, after: next })
    if (!isSameEntry(now, next))
      steps.push({ fileId: change.fileId, path: change.path, before: now, after: next })
    yield* Effect.yieldNow
  }
  return { steps, paths, conflicts: conflicts.slice(0, MAX_CONFLICTS) }
})

const MAX_CONFLICTS = 100

/** The version that a path gets which has `now`. Stores contents that the repository does not have. */
export const nextEntry = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  { after, before }: Pick<PathChange, "before" | "after">,
  now: TreeEntry | undefined,
  read: Effect.Effect<Buffer | undefined, GitFailed>
): Effect.fn.Return<TreeEntry | "conflict" | undefined, GitFailed> {
  if (isSameEntry(now, after)) return after
  if (isSameEntry(now, before)) return after
  if (now === undefined || before === undefined || after === undefined) return "conflict"
  if ([now, before, after].some(({ mode }) => mode === LINK)) return "conflict"
  const mode = mergedMode(before.mode, now.mode, after.mode)
  const ours = yield* read
  if (mode === undefined || ours === undefined || contentId(ours) !== now.id) return "conflict"
  yield* storeContent(shadow, ours)
  if (after.id === before.id || after.id === now.id) return { mode, id: now.id }
  if (now.id === before.id) return { mode, id: after.id }
  const [base, theirs] = [yield* readContent(shadow, before.id), yield* readContent(shadow, after.id)]
  const merged = yield* mergeThreeWays(shadow, { base, ours, theirs })
  if (merged === undefined || merged.hasConflict) return "conflict"
  return { mode, id: yield* storeContent(shadow, merged.content) }
})

const MAX_SIDE = 65_536

const shownSide = (content: Buffer | undefined): string | undefined =>
  content === undefined || content.length > MAX_SIDE || !isText(content)
    ? undefined
    : content.toString("utf8")

/** The versions of a file in conflict. */
export const sidesOf = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  { after, before, fileId, path }: PathChange,
  ours: Buffer | undefined
): Effect.fn.Return<ConflictSides, GitFailed> {
  const read = (entry: TreeEntry | undefined) =>
    entry === undefined ? Effect.undefined : Effect.map(readContent(shadow, entry.id), shownSide)
  const [base, change, workspace] = [yield* read(before), yield* read(after), shownSide(ours)]
  return {
    id: fileId,
    path: pathText(path),
    ...(base === undefined ? {} : { base }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(change === undefined ? {} : { change })
  }
})
