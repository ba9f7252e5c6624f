/**
 * Change sets of runs, and decisions about them: acceptance, rejection and undo.
 *
 * Guarantees: a decision changes all of its files or none, and never replaces an edit of a person. It is on disk before its caller receives it.
 * Nothing is decided while a run of the set is live.
 * Does not: check who decides.
 */
import type {
  AcceptChanges,
  ChangeDecision,
  ChangedFile,
  ChangedFileContent,
  ChangeHunk,
  ChangeSelection,
  ChangeSet,
  ConflictSides,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import {
  ChangesOutdated,
  type ChangesUnknown,
  Conflict,
  MergeConflict,
  NotFound,
  Overloaded,
  PermissionDenied,
  type RunActive,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import type { ChangeDecisionId, ChangedFileId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { ResultRows } from "../log/EdgeIdempotency.ts"
import { findRun } from "../log/Runs.ts"
import { Store, StoreFailed, type Write } from "../store/Store.ts"
import { GitFailed } from "../workspace/Git.ts"
import { shownHunk, widenHunks } from "../workspace/PatchHunks.ts"
import { pathBytes } from "../workspace/PathText.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { findRow } from "../workspace/WorktreeRows.ts"
import {
  type ComparedFile,
  type Comparison,
  compareStates,
  countLines,
  numberedHunks,
  SecretSearches,
  shownFile,
  wholeHunks
} from "./ChangeComparison.ts"
import { changeSetIdOf, patchHashOf, setOfRun } from "./ChangeIds.ts"
import { endedWithoutPush, queueSet } from "./ChangePushes.ts"
import {
  type ChangeSetRow,
  type DecidedParts,
  decisionsOf,
  findDecision,
  findSet,
  forgetSet,
  insertDecision,
  type JournalEntry,
  putSet,
  updateDecision
} from "./ChangeRows.ts"
import { type ChangeSource, ChangeSources, type SourceFailure } from "./ChangeSource.ts"
import { type CommitFailure, DecisionCommit } from "./DecisionCommit.ts"
import {
  acceptedPaths,
  nextEntry,
  type PathChange,
  planSteps,
  rejectedPaths,
  type SelectedFile,
  selectParts,
  sidesOf,
  turned
} from "./DecisionPlan.ts"
import { isSameEntry } from "./FileTransaction.ts"
import { ChangeFileOperations } from "./FolderFiles.ts"
import { entriesAt, readContent, treeWith } from "./TreeContents.ts"

/** Who decides, and where. */
export interface ChangeDecider {
  readonly by: string
  readonly origin: DecisionOrigin
}

export type ChangeDecisionFailure =
  | SourceFailure
  | RunActive
  | ChangesOutdated
  | MergeConflict
  | PermissionDenied
  | Conflict
  | Overloaded
  | SchemaValidationFailed

type Decide<Request> = (
  runId: RunId,
  request: Request,
  decider: ChangeDecider,
  keep?: ResultRows<DecidedChanges>
) => Effect.Effect<DecidedChanges, ChangeDecisionFailure>

export class Changes extends Context.Service<
  Changes,
  {
    /** The set of a run with up to `limit` files after a position. `next`: the position of the last one, if more follow. */
    readonly read: (
      runId: RunId,
      position: string | undefined,
      limit: number
    ) => Effect.Effect<
      { readonly set: ChangeSet; readonly items: ReadonlyArray<ChangedFile>; readonly next: string | undefined },
      SourceFailure
    >
    /** A file with up to `limit` undecided hunks after a position. `context`: lines on each side, three by default. */
    readonly readFile: (
      runId: RunId,
      fileId: ChangedFileId,
      options: {
        readonly context?: number | undefined
        readonly position: string | undefined
        readonly limit: number
      }
    ) => Effect.Effect<
      Omit<ChangedFileContent, "nextCursor" | "requestId"> & { readonly next: string | undefined },
      SourceFailure
    >
    /** The set without its files. */
    readonly summary: (runId: RunId) => Effect.Effect<ChangeSet, SourceFailure>
    /** The rows of `keep` are committed together with the decision. */
    readonly accept: Decide<AcceptChanges>
    readonly reject: Decide<RejectChanges>
    readonly undo: Decide<UndoChanges>
    /** Calls `listener` after a set has entered the queue for Hubs. Returns what ends it. */
    readonly follow: (listener: (setId: ChangeSetId) => void) => () => void
    /** Deletes what is stored of the set that the run owns, unless its worktree exists. */
    readonly forget: (owner: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/Changes") {
  static readonly layer = Layer.effect(
    Changes,
    Effect.gen(function* () {
      const store = yield* Store
      const service = new ChangeService({
        store,
        sources: yield* ChangeSources,
        snapshots: yield* Snapshots,
        clock: yield* Clock.Clock,
        commit: new DecisionCommit(store, yield* ChangeFileOperations)
      })
      yield* service.recover()
      yield* service.queueEnds(yield* EdgeEventLog)
      return service
    })
  )
}

interface Services {
  readonly store: Store["Service"]
  readonly sources: ChangeSources["Service"]
  readonly snapshots: Snapshots["Service"]
  readonly clock: Clock.Clock
  readonly commit: DecisionCommit
}

/** A set with its source, its row and its comparison. */
interface OpenSet {
  readonly source: ChangeSource
  readonly row: ChangeSetRow
  readonly comparison: Comparison
}

/** A decision before its files are changed. */
interface Prepared {
  readonly kind: ChangeDecision["kind"]
  readonly place: DecidedParts["place"]
  /** Changes of files. */
  readonly paths: ReadonlyArray<PathChange>
  /** Changes of the base. */
  readonly base: ReadonlyArray<PathChange>
  readonly files: ChangeDecision["files"]
  readonly additions: number
  readonly deletions: number
  readonly numbers: DecidedParts["numbers"]
  readonly comment?: string | undefined
  readonly reverses?: ChangeDecision | undefined
  /** Whether all of `reverses` is reversed. */
  readonly isComplete?: boolean
}

const SHOWN = 100
/** Plans of one decision: a program that writes all the time blocks it. */
const ATTEMPTS = 5
const PREFIX_BYTES = 300

/** Position of a file in the list of a set. */
export const filePosition = ({ id, path }: Pick<ChangedFile, "id" | "path">): string =>
  `${pathBytes(path).toString("hex", 0, PREFIX_BYTES)}.${id}`

const filesAfter = (
  files: ReadonlyArray<ComparedFile>,
  position: string | undefined
): ReadonlyArray<ComparedFile> => {
  if (position === undefined) return files
  const [prefix = "", id] = position.split(".")
  const at = files.findIndex((file) => file.id === id)
  if (at !== -1) return files.slice(at + 1)
  // The file was decided meanwhile.
  const last = Buffer.from(prefix, "hex")
  return files.filter(({ change: { path } }) => Buffer.compare(path.subarray(0, PREFIX_BYTES), last) > 0)
}

class ChangeService implements Context.Service.Shape<typeof Changes> {
  readonly #services: Services
  readonly #secrets = new SecretSearches()
  readonly #listeners = new Set<(setId: ChangeSetId) => void>()

  constructor(services: Services) {
    this.#services = services
  }

  readonly #sourceOf = (runId: RunId): Effect.Effect<ChangeSource, SourceFailure> =>
    Effect.suspend(() => {
      const run = findRun(this.#services.store, runId)
      return run === undefined ? Effect.fail(new NotFound()) : this.#services.sources.of(run)
    })

  /** A failure of git makes the changes unknown. */
  #readable<A, E, R>(
    { owner, root }: ChangeSource,
    work: Effect.Effect<A, E | GitFailed, R>
  ): Effect.Effect<A, Exclude<E, GitFailed> | ChangesUnknown, R> {
    return Effect.catch(
      work,
      (failure): Effect.Effect<never, Exclude<E, GitFailed> | ChangesUnknown> =>
        failure instanceof GitFailed
          ? this.#services.snapshots.unknown(owner, root, failure)
          : // What is no failure of git.
            Effect.fail(failure as Exclude<E, GitFailed>)
    )
  }

  readonly #open = Effect.fn("Changes.open")({ self: this }, function* (source: ChangeSource) {
    const { tree: result, leftOut } = yield* source.result
    const stored = findSet(this.#services.store, source.setId)
    const row = stored ?? (yield* this.#firstRow(source))
    const comparison = yield* this.#compare(source, row, result, leftOut)
    return { source, row, comparison } satisfies OpenSet
  })

  #firstRow(source: ChangeSource): Effect.Effect<ChangeSetRow, ChangesUnknown> {
    return Effect.map(source.base, ({ leftOut, tree }) => ({ base: tree, conflicts: [], numbers: {}, leftOut }))
  }

  #compare(
    source: ChangeSource,
    { base, conflicts, leftOut: atStart = [] }: ChangeSetRow,
    result: string,
    leftOut: ReadonlyArray<string>
  ): Effect.Effect<Comparison, ChangesUnknown> {
    const { shadow } = source
    const secrets = this.#secrets
    return this.#readable(
      source,
      source.withView((view) =>
        compareStates({ shadow, base, result, leftOut: [...atStart, ...leftOut], conflicts, view, secrets })
      )
    )
  }

  readonly #summaryOf = Effect.fnUntraced({ self: this }, function* (
    { comparison, source }: OpenSet,
    newest: ReadonlyArray<ChangeDecision>
  ): Effect.fn.Return<ChangeSet> {
    const { files, incomplete, version } = comparison
    const { direct, isolation, runs, setId, workspace } = source
    const { agentId, id, sessionId } = runs.at(-1) ?? runs[0]
    const sum = (of: (file: ComparedFile) => number) => files.reduce((total, file) => total + of(file), 0)
    return {
      id: setId,
      runId: id,
      ...(sessionId === undefined ? {} : { sessionId }),
      agentId,
      workspace,
      isolation,
      // Nothing of a direct set waits for a decision.
      state: files.length > 0 && !direct ? "open" : files.length + newest.length > 0 ? "decided" : "empty",
      version,
      fileCount: files.length,
      additions: sum(({ change }) => change.additions),
      deletions: sum(({ change }) => change.deletions),
      apart: files.filter(({ apart }) => apart.length > 0).length,
      conflicts: files.filter(({ isConflict }) => isConflict).length,
      live: runs.some(({ state }) => !isTerminal(state)),
      direct,
      ignored: yield* source.ignored,
      commits: yield* source.commits,
      ...(incomplete.length === 0 ? {} : { incomplete: incomplete.slice(0, SHOWN) }),
      decisions: newest
    }
  })

  readonly #shownFiles = (
    { comparison, row, source }: OpenSet,
    files: ReadonlyArray<ComparedFile> = comparison.files
  ): Effect.Effect<ReadonlyArray<ChangedFile>, ChangesUnknown> =>
    this.#readable(
      source,
      Effect.map(numberedHunks(source.shadow, files, row.numbers), (hunks) =>
        files.map((file) => shownFile(file, hunks.get(file.id)))
      )
    )

  readonly summary = Effect.fn("Changes.summary")({ self: this }, function* (runId: RunId) {
    const set = yield* this.#open(yield* this.#sourceOf(runId))
    return yield* this.#summaryOf(set, this.#newest(set.source.setId))
  })

  #newest(setId: ChangeSetId): ReadonlyArray<ChangeDecision> {
    return decisionsOf(this.#services.store, setId, SHOWN)
  }

  readonly read = Effect.fn("Changes.read")({ self: this }, function* (
    runId: RunId,
    position: string | undefined,
    limit: number
  ) {
    const open = yield* this.#open(yield* this.#sourceOf(runId))
    const following = filesAfter(open.comparison.files, position)
    const items = yield* this.#shownFiles(open, following.slice(0, limit))
    const last = items.at(-1)
    return {
      set: yield* this.#summaryOf(open, this.#newest(open.source.setId)),
      items,
      next: following.length > limit && last !== undefined ? filePosition(last) : undefined
    }
  })

  readonly readFile = Effect.fn("Changes.readFile")({ self: this }, function* (
    runId: RunId,
    fileId: ChangedFileId,
    {
      context = 3,
      limit,
      position = "0"
    }: { readonly context?: number | undefined; readonly position: string | undefined; readonly limit: number }
  ) {
    const open = yield* this.#open(yield* this.#sourceOf(runId))
    const { comparison, row, source } = open
    const file = comparison.files.find(({ id }) => id === fileId)
    if (file === undefined) return yield* new NotFound({ message: "This file has no undecided changes." })
    const numbered = yield* this.#readable(source, numberedHunks(source.shadow, [file], row.numbers))
    const parted = numbered.get(fileId)
    const found = parted ?? (yield* this.#readable(source, wholeHunks(source.shadow, file)))
    const hunks = found.map(({ hunk }) => hunk)
    const before = file.change.before
    const wide =
      parted === undefined || context <= 3 || before === undefined
        ? hunks
        : widenHunks(yield* this.#readable(source, readContent(source.shadow, before.id)), hunks, context)
    const start = Number(position)
    const items = found.slice(start, start + limit).map(({ hunk, id }, at): ChangeHunk => ({
      id,
      ...shownHunk(wide[start + at] ?? hunk)
    }))
    const sides = file.isConflict ? yield* this.#readable(source, this.#sidesNow(source, file)) : undefined
    return {
      file: shownFile(file, parted),
      version: comparison.version,
      items,
      ...(sides === undefined ? {} : { sides }),
      next: start + limit < found.length ? String(start + limit) : undefined
    }
  })

  #sidesNow({ root, shadow }: ChangeSource, { change, id }: ComparedFile) {
    const path: PathChange = { fileId: id, path: change.path, before: change.before, after: change.after }
    return Effect.map(planSteps(shadow, root, [path]), ({ conflicts }): ConflictSides | undefined => conflicts[0])
  }

  readonly accept: Decide<AcceptChanges> = (runId, { parts }, decider, keep) =>
    this.#decide(runId, decider, keep, (open) =>
      Effect.gen({ self: this }, function* () {
        const selected = yield* this.#select(open, parts)
        const paths = yield* acceptedPaths(open.source.shadow, selected)
        return { kind: "accept", place: "workspace", paths, base: paths, ...described(selected, open.row) }
      })
    )

  readonly reject: Decide<RejectChanges> = (runId, { comment, parts }, decider, keep) =>
    this.#decide(runId, decider, keep, (open) =>
      Effect.gen({ self: this }, function* () {
        const selected = yield* this.#select(open, parts)
        const paths = yield* rejectedPaths(open.source.shadow, selected)
        return { kind: "reject", place: "layer", paths, base: [], comment, ...described(selected, open.row) }
      })
    )

  #select({ comparison, row, source }: OpenSet, parts: ChangeSelection) {
    return source.direct
      ? Effect.fail(
          new Conflict({
            message: "The run wrote into the workspace itself. Its changes can be undone only.",
            details: { reason: "direct" }
          })
        )
      : selectParts(source.shadow, comparison, parts, row.numbers)
  }

  readonly undo: Decide<UndoChanges> = (runId, request, decider, keep) =>
    this.#decide(runId, decider, keep, (open) =>
      request.decisionId === undefined
        ? this.#undoRun(open, request.files)
        : this.#undoDecision(open, request.decisionId, request.files)
    )

  /** Reverses what a run wrote directly. */
  readonly #undoRun = Effect.fnUntraced({ self: this }, function* (
    { comparison, row, source }: OpenSet,
    ids: ReadonlyArray<ChangedFileId> | undefined
  ): Effect.fn.Return<Prepared, ChangeDecisionFailure | GitFailed> {
    if (!source.direct) return yield* invalid("decisionId", "Name the decision to reverse")
    const named = new Set(ids)
    const files = comparison.files.filter(({ id }) => ids === undefined || named.has(id))
    if (files.length < named.size) return yield* new ChangesOutdated()
    if (files.length === 0) return yield* invalid("files", "There is nothing to undo")
    const hunks = yield* numberedHunks(source.shadow, files, row.numbers)
    const selected = files.map((file) => ({ file, hunks: hunks.get(file.id) ?? [], chosen: undefined }))
    const paths = yield* acceptedPaths(source.shadow, selected)
    return { kind: "undo", place: "workspace", paths: paths.map(turned), base: paths, ...described(selected, row) }
  })

  readonly #undoDecision = Effect.fnUntraced({ self: this }, function* (
    { source }: OpenSet,
    id: ChangeDecisionId,
    ids: ReadonlyArray<ChangedFileId> | undefined
  ): Effect.fn.Return<Prepared, ChangeDecisionFailure> {
    const found = findDecision(this.#services.store, source.setId, id)
    if (found === undefined) return yield* new NotFound({ message: "This change set has no such decision." })
    const { decision, parts } = found
    if (decision.kind === "undo" || decision.reversedBy !== undefined)
      return yield* new Conflict({
        message: decision.kind === "undo" ? "An undo can't be reversed." : "This decision is already reversed.",
        details: { reason: decision.kind === "undo" ? "undo" : "reversed" }
      })
    const named = new Set(ids)
    const paths = parts.paths.filter(({ fileId }) => ids === undefined || named.has(fileId))
    const fileIds = new Set(paths.map(({ fileId }) => fileId))
    if (fileIds.size < named.size) return yield* new ChangesOutdated()
    return {
      kind: "undo",
      place: parts.place,
      paths: paths.map(({ after, before, fileId, path }) => ({
        fileId,
        path: Buffer.from(path, "hex"),
        before: after,
        after: before
      })),
      base: paths.map(({ baseAfter, baseBefore, fileId, path }) => ({
        fileId,
        path: Buffer.from(path, "hex"),
        before: baseAfter,
        after: baseBefore
      })),
      files: decision.files.filter((file) => fileIds.has(file.id)),
      additions: decision.deletions,
      deletions: decision.additions,
      numbers: parts.numbers,
      reverses: decision,
      isComplete: paths.length === parts.paths.length
    }
  })

  #decide(
    runId: RunId,
    decider: ChangeDecider,
    keep: ResultRows<DecidedChanges> = () => [],
    prepare: (open: OpenSet) => Effect.Effect<Prepared, ChangeDecisionFailure | GitFailed>
  ): Effect.Effect<DecidedChanges, ChangeDecisionFailure> {
    const { commit } = this.#services
    return Effect.gen({ self: this }, function* () {
      const { root } = yield* this.#sourceOf(runId)
      return yield* commit.alone(
        root,
        Effect.gen({ self: this }, function* () {
          const source = yield* this.#sourceOf(runId)
          yield* source.reserve
          yield* this.#finishEarlier(source)
          const work = Effect.gen({ self: this }, function* () {
            const open = yield* this.#open(source)
            return yield* this.#carryOut(open, yield* prepare(open), decider, keep)
          })
          return yield* Effect.catch(work, (failure) =>
            failure instanceof GitFailed || failure instanceof StoreFailed
              ? this.#refused(source, failure)
              : Effect.fail(failure)
          )
        }).pipe(Effect.scoped)
      )
    })
  }

  #refused(
    { owner, root }: ChangeSource,
    failure: CommitFailure
  ): Effect.Effect<never, Overloaded | PermissionDenied | ChangesUnknown> {
    if (failure instanceof StoreFailed || /\b(ENOSPC|EDQUOT|EMFILE|ENFILE)\b/.test(failure.message))
      return Effect.fail(new Overloaded({ message: "The Edge can't write now: its disk may be full." }))
    return /\b(EACCES|EPERM|EROFS)\b/.test(failure.message)
      ? Effect.fail(
          new PermissionDenied({
            message: "The Edge may not write these files.",
            details: { reason: "files" }
          })
        )
      : this.#services.snapshots.unknown(owner, root, failure)
  }

  /** Plans and does a decision, again if another program changes the files meanwhile. */
  readonly #carryOut = Effect.fn("Changes.carryOut")({ self: this }, function* (
    open: OpenSet,
    prepared: Prepared,
    decider: ChangeDecider,
    keep: ResultRows<DecidedChanges>
  ): Effect.fn.Return<DecidedChanges, MergeConflict | ChangesUnknown | CommitFailure> {
    const { source } = open
    const { clock, commit } = this.#services
    const { shadow } = source
    const base = yield* this.#newBase(open, prepared.base)
    const id = mint<ChangeDecisionId>("chd", clock.currentTimeMillisUnsafe())
    const inFolder = (folder: string) =>
      Effect.gen({ self: this }, function* () {
        for (let attempt = 0; ; attempt++) {
          const { conflicts, paths, steps } = yield* planSteps(shadow, folder, prepared.paths)
          if (conflicts.length > 0) return yield* new MergeConflict({ details: { files: conflicts } })
          const { runs, setId } = source
          const runId = (runs.at(-1) ?? runs[0]).id
          const target = { id, setId, runId, place: prepared.place, root: source.root, folder, shadow }
          const record = this.#record(open, prepared, { id, decider, paths, keep, base })
          const done = yield* commit.carryOut(target, steps, record)
          if (!("path" in done)) return done
          if (attempt + 1 < ATTEMPTS) continue
          const change = prepared.paths.find(({ path }) => path.equals(done.path)) ?? prepared.paths[0]
          const sides = change === undefined ? [] : [yield* sidesOf(shadow, change, undefined)]
          return yield* new MergeConflict({ details: { files: sides } })
        }
      })
    const decided = yield* prepared.place === "workspace" ? inFolder(source.root) : source.withView(inFolder)
    this.#announce(source.setId)
    return decided
  })

  /** The base with a decision's changes of it. */
  readonly #newBase = Effect.fnUntraced({ self: this }, function* (
    { row, source: { shadow } }: OpenSet,
    changes: ReadonlyArray<PathChange>
  ): Effect.fn.Return<string, MergeConflict | GitFailed> {
    const moved = changes.filter(({ after, before }) => !isSameEntry(before, after))
    if (moved.length === 0) return row.base
    const now = yield* entriesAt(
      shadow,
      row.base,
      moved.map(({ path }) => path)
    )
    const entries: Array<{ path: Buffer; entry: PathChange["after"] }> = []
    for (const change of moved) {
      const current = now.get(change.path.toString("latin1"))
      const read = current === undefined ? Effect.undefined : readContent(shadow, current.id)
      const entry = yield* nextEntry(shadow, change, current, read)
      if (entry === "conflict")
        return yield* new MergeConflict({
          details: { files: [yield* sidesOf(shadow, change, yield* read)] }
        })
      entries.push({ path: change.path, entry })
    }
    return yield* treeWith(shadow, row.base, entries)
  })

  /** The rows and the answer of a decision whose files are changed. */
  readonly #record = Effect.fnUntraced({ self: this }, function* (
    { row, source, comparison: before }: OpenSet,
    prepared: Prepared,
    { base, decider, id, keep, paths }: RecordInput
  ): Effect.fn.Return<{ rows: ReadonlyArray<Write>; result: DecidedChanges }, ChangesUnknown> {
    const { clock } = this.#services
    const { reverses } = prepared
    const decision: ChangeDecision = {
      id,
      changeSetId: source.setId,
      runId: (source.runs.at(-1) ?? source.runs[0]).id,
      kind: prepared.kind,
      by: decider.by,
      origin: decider.origin,
      files: prepared.files.slice(0, SHOWN),
      fileCount: new Set(prepared.paths.map(({ fileId }) => fileId)).size,
      additions: prepared.additions,
      deletions: prepared.deletions,
      patchHash: patchHashOf(prepared.paths),
      ...(prepared.comment === undefined ? {} : { comment: prepared.comment }),
      ...(reverses === undefined ? {} : { reverses: reverses.id }),
      at: new Date(clock.currentTimeMillisUnsafe()).toISOString()
    }
    const reversed =
      reverses === undefined || prepared.isComplete !== true ? undefined : { ...reverses, reversedBy: id }
    const nextRow: ChangeSetRow = {
      ...row,
      base,
      conflicts: prepared.kind === "undo" ? row.conflicts : withoutDecided(row.conflicts, prepared),
      numbers: nextNumbers(row.numbers, prepared)
    }
    const isLayerChanged = prepared.place === "layer"
    const result = isLayerChanged ? yield* source.result : { tree: before.result, leftOut: [] }
    const comparison = yield* this.#compare(source, nextRow, result.tree, [
      ...(isLayerChanged ? result.leftOut : before.incomplete)
    ])
    const newest = [decision, ...this.#newest(source.setId)]
      .map((each) => (each.id === reversed?.id ? reversed : each))
      .slice(0, SHOWN)
    const set = yield* this.#summaryOf({ source, row: nextRow, comparison }, newest)
    const answer: DecidedChanges = { decision, set }
    const baseOf = new Map(prepared.base.map((change) => [change.path.toString("hex"), change]))
    const parts: DecidedParts = {
      place: prepared.place,
      paths: paths.map(({ after, before, fileId, path }) => {
        const moved = baseOf.get(path.toString("hex"))
        return {
          fileId,
          path: path.toString("hex"),
          before,
          after,
          baseBefore: moved?.before,
          baseAfter: moved?.after
        }
      }),
      numbers: prepared.numbers
    }
    return {
      rows: [
        insertDecision(decision, parts),
        ...(reversed === undefined ? [] : [updateDecision(reversed)]),
        putSet(source.setId, nextRow),
        queueSet(source.setId, decision.runId),
        ...keep(answer)
      ],
      result: answer
    }
  })

  // Crashes, the queue for Hubs, and the end of sets.

  readonly #recoverEntry = Effect.fnUntraced({ self: this }, function* (entry: JournalEntry) {
    const { commit, snapshots, store } = this.#services
    const run = findRun(store, entry.runId)
    if (entry.place === "layer") {
      if (run === undefined) return
      const source = yield* this.#services.sources.of(run)
      return yield* source.withView((folder) => commit.recover(entry, folder, source.shadow))
    }
    // The contents of merges are read from any repository of the set.
    const shadow =
      run === undefined
        ? yield* snapshots.repository(entry.root)
        : yield* this.#services.sources.of(run).pipe(
            Effect.map((source) => source.shadow),
            Effect.catch(() => snapshots.repository(entry.root))
          )
    return yield* commit.recover(entry, entry.root, shadow)
  })

  /** Reverses decisions that the last Edge did not finish. Call at start. */
  recover(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.#services.commit.unfinished(),
        (entry) =>
          this.#recoverEntry(entry).pipe(
            Effect.catch((failure) =>
              Effect.logError("failed to reverse an unfinished decision about changes", {
                decisionId: entry.plan.id,
                cause: failure.message
              })
            )
          ),
        { discard: true }
      )
    )
  }

  readonly #finishEarlier = Effect.fnUntraced({ self: this }, function* ({ root }: ChangeSource) {
    for (const entry of this.#services.commit.unfinished(root))
      yield* this.#recoverEntry(entry).pipe(
        Effect.mapError(
          () => new Overloaded({ message: "An earlier decision could not be finished. Restart the Edge." })
        )
      )
  })

  readonly follow = (listener: (setId: ChangeSetId) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #announce(setId: ChangeSetId): void {
    for (const listener of this.#listeners) listener(setId)
  }

  /** Puts the sets of ended runs into the queue for Hubs. */
  readonly queueEnds = Effect.fnUntraced({ self: this }, function* (
    log: EdgeEventLog["Service"]
  ): Effect.fn.Return<void, never, Scope.Scope> {
    const { store } = this.#services
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const queue = (setId: ChangeSetId, runId: RunId) =>
      Effect.andThen(
        store.commit([queueSet(setId, runId)]),
        Effect.sync(() => this.#announce(setId))
      ).pipe(Effect.catch(({ message }) => Effect.logWarning("failed to queue changes", { runId, cause: message })))
    yield* Effect.forEach(endedWithoutPush(store), ({ runId, setId }) => queue(setId, runId), { discard: true })
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        log.follow(undefined, {
          receive: ({ runId, terminal }) => {
            const isOfHub =
              terminal && store.get("SELECT 1 FROM hub_runs WHERE run_id = ?", runId) !== undefined
            const run = isOfHub ? findRun(store, runId) : undefined
            if (run !== undefined) fork(queue(setOfRun(run), runId))
          }
        })
      ),
      (unfollow) => Effect.sync(unfollow)
    )
  })

  readonly forget = (owner: RunId): Effect.Effect<void, StoreFailed> =>
    Effect.suspend(() => {
      const { snapshots, store } = this.#services
      const worktree = findRow(store, owner)
      if (worktree !== undefined && worktree.state !== "removed") return Effect.void
      const setId = changeSetIdOf(owner)
      return Effect.andThen(store.commit(forgetSet(setId)), snapshots.forget(setId))
    })
}

interface RecordInput {
  readonly id: ChangeDecisionId
  readonly decider: ChangeDecider
  readonly paths: ReadonlyArray<PathChange>
  readonly keep: ResultRows<DecidedChanges>
  readonly base: string
}

const invalid = (path: string, message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path, message }] } }))

/** Files and lines of the selected parts. */
const described = (
  selected: ReadonlyArray<SelectedFile>,
  { numbers }: ChangeSetRow
): Pick<Prepared, "files" | "additions" | "deletions" | "numbers"> => {
  const counts = selected.map(({ chosen, file: { change } }) => (chosen === undefined ? change : countLines(chosen)))
  return {
    files: selected.map(({ chosen, file, hunks }) => ({
      id: file.id,
      path: shownFile(file, hunks).path,
      hunks: chosen?.length ?? (file.whole === undefined ? hunks.length : 1)
    })),
    additions: counts.reduce((sum, { additions }) => sum + additions, 0),
    deletions: counts.reduce((sum, { deletions }) => sum + deletions, 0),
    // Only equal hunks need their numbers: those of others are 0 again.
    numbers: selected.flatMap(({ chosen, hunks }) =>
      (chosen ?? hunks)
        .filter(
          ({ id, text }) => numbers[text] !== undefined || hunks.some((each) => each.text === text && each.id !== id)
        )
        .map(({ number, text }) => [text, number] as const)
    )
  }
}

/** Texts of hunks whose numbers are remembered. */
const MAX_TEXTS = 1_000

const nextNumbers = (
  numbers: ChangeSetRow["numbers"],
  { kind, numbers: decided }: Prepared
): ChangeSetRow["numbers"] => {
  const next = new Map(Object.entries(numbers))
  for (const [text, number] of decided) {
    const others = (next.get(text) ?? []).filter((each) => each !== number)
    next.set(text, kind === "undo" ? others : [...others, number])
  }
  return Object.fromEntries([...next].filter(([, left]) => left.length > 0).slice(-MAX_TEXTS))
}

const withoutDecided = (conflicts: ReadonlyArray<string>, { files }: Prepared): ReadonlyArray<string> => {
  const decided = new Set(files.map(({ path }) => path))
  return conflicts.filter((path) => !decided.has(path))
}
