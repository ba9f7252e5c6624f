/**
 * What a request for a decision means: which paths change in the workspace or the layer, and which in the base.
 */
import type {
  AcceptChanges,
  ChangeDecision,
  ChangeSelection,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import { ChangesOutdated, Conflict, NotFound, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ChangeDecisionId, ChangedFileId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Store } from "../store/Store.ts"
import type { GitFailed } from "../workspace/Git.ts"
import { countLines, numberedHunks, shownFile } from "./ChangeComparison.ts"
import {
  type ChangeSetRow,
  type DecidedFile,
  type DecidedParts,
  findDecision,
  undoneFiles
} from "./ChangeRows.ts"
import type { OpenSet } from "./ChangeSets.ts"
import { editedFiles, rejectedParts } from "./DecisionParts.ts"
import {
  acceptedPaths,
  type PathChange,
  rejectedPaths,
  type SelectedFile,
  selectParts,
  turned
} from "./DecisionPlan.ts"

/** A decision before its files are changed. */
export interface PreparedDecision {
  readonly kind: ChangeDecision["kind"]
  readonly place: DecidedParts["place"]
  /** Changes of files. */
  readonly paths: ReadonlyArray<PathChange>
  /** Changes of the base. `instead`: if the base has received the workspace's version since. */
  readonly base: ReadonlyArray<PathChange & { readonly instead?: Pick<PathChange, "before" | "after"> }>
  readonly files: ReadonlyArray<DecidedFile>
  readonly comment?: string | undefined
  /** Number of hunks that are accepted as the person edited them. */
  readonly edited?: number
  readonly rejected?: NonNullable<ChangeDecision["rejected"]>
  readonly reverses?: ChangeDecision | undefined
  /** Whether all of `reverses` is reversed. */
  readonly isComplete?: boolean
}

export type PreparationFailure = ChangesOutdated | Conflict | NotFound | SchemaValidationFailed | GitFailed

type Preparation = Effect.Effect<PreparedDecision, PreparationFailure>

const select = ({ comparison, row, source }: OpenSet, parts: ChangeSelection) =>
  source.direct
    ? Effect.fail(
        new Conflict({
          message: "The run wrote into the workspace itself. Its changes can be undone only.",
          details: { reason: "direct" }
        })
      )
    : selectParts(source.shadow, comparison, parts, row.numbers)

/**
 * The base gets the change as the agent made it, so that nothing of it is open, and the workspace gets the person's version of it: an edit of the
 * person like any other, which the next turn finds in its layer.
 */
export const prepareAcceptance = (open: OpenSet, { edits, parts }: AcceptChanges): Preparation =>
  Effect.gen(function* () {
    const { shadow } = open.source
    const selected = yield* select(open, parts)
    const base = yield* acceptedPaths(shadow, selected)
    const edited = yield* editedFiles(shadow, selected, edits)
    const paths = base.map((change) => {
      const entry = edited.get(change.fileId)?.entry
      return entry === undefined ? change : { ...change, after: entry }
    })
    return {
      kind: "accept",
      place: "workspace",
      paths,
      base,
      files: described(selected, open.row).map((file) => {
        const count = edited.get(file.id)?.count
        return count === undefined ? file : { ...file, edited: count }
      }),
      edited: [...edited.values()].reduce((sum, { count }) => sum + count, 0)
    }
  })

export const prepareRejection = (open: OpenSet, { comment, comments, parts }: RejectChanges): Preparation =>
  Effect.gen(function* () {
    const { shadow } = open.source
    const selected = yield* select(open, parts)
    const rejected = yield* rejectedParts(shadow, selected, comments)
    const paths = yield* rejectedPaths(shadow, selected)
    return {
      kind: "reject",
      place: "layer",
      paths,
      base: [],
      comment,
      rejected,
      files: described(selected, open.row)
    }
  })

export const prepareUndo = (
  store: Store["Service"],
  open: OpenSet,
  { decisionId, files }: UndoChanges
): Preparation =>
  decisionId === undefined ? undoRun(open, files) : undoDecision(store, open, decisionId, files)

const unnamed = new SchemaValidationFailed({
  details: { issues: [{ path: "decisionId", message: "Name the decision to reverse" }] }
})
const nothing = new SchemaValidationFailed({
  details: { issues: [{ path: "files", message: "There is nothing to undo" }] }
})

/** Reverses what a run wrote directly. */
const undoRun = Effect.fnUntraced(function* (
  { comparison, row, source }: OpenSet,
  ids: ReadonlyArray<ChangedFileId> | undefined
): Effect.fn.Return<PreparedDecision, PreparationFailure> {
  if (!source.direct) return yield* unnamed
  const named = new Set(ids)
  const files = comparison.files.filter(({ id }) => ids === undefined || named.has(id))
  if (files.length < named.size) return yield* new ChangesOutdated()
  if (files.length === 0) return yield* nothing
  const hunks = yield* numberedHunks(source.shadow, files, row.numbers)
  const selected = files.map((file) => ({ file, hunks: hunks.get(file.id) ?? [], chosen: undefined }))
  const paths = yield* acceptedPaths(source.shadow, selected)
  return {
    kind: "undo",
    place: "workspace",
    paths: paths.map(turned),
    base: paths,
    files: described(selected, row).map(undone)
  }
})

const undoDecision = Effect.fnUntraced(function* (
  store: Store["Service"],
  { source }: OpenSet,
  id: ChangeDecisionId,
  ids: ReadonlyArray<ChangedFileId> | undefined
): Effect.fn.Return<PreparedDecision, PreparationFailure> {
  const found = findDecision(store, source.setId, id)
  if (found === undefined) return yield* new NotFound({ message: "This change set has no such decision." })
  const { decision, parts } = found
  if (decision.kind === "undo")
    return yield* new Conflict({ message: "An undo can't be reversed.", details: { reason: "undo" } })
  if (decision.reversedBy !== undefined)
    return yield* new Conflict({
      message: "This decision is already reversed.",
      details: { reason: "reversed" }
    })
  const named = new Set(ids)
  const before = undoneFiles(store, source.setId, id)
  const paths = parts.paths.filter(
    ({ fileId }) => !before.has(fileId) && (ids === undefined || named.has(fileId))
  )
  const fileIds = new Set(paths.map(({ fileId }) => fileId))
  if (fileIds.size < named.size) return yield* new ChangesOutdated()
  if (paths.length === 0) return yield* nothing
  return {
    kind: "undo",
    place: parts.place,
    paths: paths.map(({ after, before, fileId, path }) => ({
      fileId,
      path: Buffer.from(path, "hex"),
      before: after,
      after: before
    })),
    base: paths.map(({ after, baseAfter, baseBefore, before, fileId, path }) => ({
      fileId,
      path: Buffer.from(path, "hex"),
      before: baseAfter,
      after: baseBefore,
      // A turn has merged what the person edited, also while accepting it.
      ...(parts.place === "workspace" ? { instead: { before: after, after: before } } : {})
    })),
    files: parts.files.filter((file) => fileIds.has(file.id)).map(undone),
    reverses: decision,
    isComplete: parts.paths.every(({ fileId }) => before.has(fileId) || fileIds.has(fileId))
  }
})

/** A decided file in the other direction. */
const undone = ({ additions, deletions, hunks, id, numbers, path }: DecidedFile): DecidedFile => ({
  id,
  path,
  hunks,
  additions: deletions,
  deletions: additions,
  numbers
})

/** Files and lines of the selected parts. */
const described = (
  selected: ReadonlyArray<SelectedFile>,
  { numbers }: ChangeSetRow
): ReadonlyArray<DecidedFile> =>
  selected.map(({ chosen, file, hunks }) => {
    const { additions, deletions } = chosen === undefined ? file.change : countLines(chosen)
    return {
      id: file.id,
      path: shownFile(file, hunks).path,
      hunks: chosen?.length ?? (file.whole === undefined ? hunks.length : 1),
      additions,
      deletions,
      // Only equal hunks need their numbers: those of others are 0 again.
      numbers: (chosen ?? hunks)
        .filter(
          ({ id, text }) =>
            numbers[text] !== undefined || hunks.some((each) => each.text === text && each.id !== id)
        )
        .map(({ number, text }) => [text, number] as const)
    }
  })
