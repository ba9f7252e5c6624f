/** Rows of change sets, of their decisions, and of the journal of decisions in progress. */
import type { ChangeDecision } from "@corral/domain/edge-api/ChangeSet"
import type { ChangeDecisionId, ChangedFileId, ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"
import type { TreeEntry } from "../workspace/TreeDiff.ts"
import type { RecordedPlan } from "./TransactionPlan.ts"

export interface ChangeSetRow {
  /** Tree that the result is compared with. */
  readonly base: string
  /** Paths of files in conflict, as text. */
  readonly conflicts: ReadonlyArray<string>
  /** Numbers of decided hunks among equal ones of a file, by the hash of their text. */
  readonly numbers: Readonly<Record<string, ReadonlyArray<number>>>
  /** Paths that the first base does not have. */
  readonly leftOut?: ReadonlyArray<string>
}

/** Where a decision writes: into the workspace, or into the layer. */
export type DecisionPlace = "workspace" | "layer"

/** A path of a decision: its versions where the decision wrote, and in the base. */
export interface DecidedPath {
  readonly fileId: ChangedFileId
  /** Bytes, as hex. */
  readonly path: string
  readonly before?: TreeEntry | undefined
  readonly after?: TreeEntry | undefined
  readonly baseBefore?: TreeEntry | undefined
  readonly baseAfter?: TreeEntry | undefined
}

/** A file of a decision, with what was decided of it. */
export interface DecidedFile {
  readonly id: ChangedFileId
  /** For people. */
  readonly path: string
  readonly hunks: number
  readonly additions: number
  readonly deletions: number
  /** Hunks that were accepted as the person edited them. */
  readonly edited?: number
  /** Numbers among equal hunks, by the hash of their text. */
  readonly numbers: ReadonlyArray<readonly [text: string, number: number]>
}

/** What an undo and the next run need of a decision. */
export interface DecidedParts {
  readonly place: DecisionPlace
  readonly paths: ReadonlyArray<DecidedPath>
  readonly files: ReadonlyArray<DecidedFile>
}

interface StoredSet {
  readonly body: string
}

export const findSet = (store: Store["Service"], setId: ChangeSetId): ChangeSetRow | undefined => {
  const row = store.get<StoredSet>("SELECT body FROM change_sets WHERE id = ?", setId)
  return row === undefined ? undefined : parseStored<ChangeSetRow>(row.body, "change set")
}

export const putSet = (setId: ChangeSetId, row: ChangeSetRow): Write => [
  "INSERT OR REPLACE INTO change_sets (id, body) VALUES (?, ?)",
  setId,
  JSON.stringify(row)
]

/** Base of a set, and its files in conflict. For layers: at their start, and after a person's edits were merged into them. */
export const setBase = (
  setId: ChangeSetId,
  base: string,
  conflicts: ReadonlyArray<string>,
  leftOut: ReadonlyArray<string> = []
): Write => putSet(setId, { base, conflicts, numbers: {}, leftOut })

interface StoredDecision {
  readonly decision: string
}

const newestDecisions = `SELECT decision FROM change_decisions WHERE set_id = ? ORDER BY id DESC LIMIT ?`

/** Newest first. */
export const decisionsOf = (
  store: Store["Service"],
  setId: ChangeSetId,
  limit: number
): ReadonlyArray<ChangeDecision> =>
  store
    .all<StoredDecision>(newestDecisions, setId, limit)
    .map(({ decision }) => parseStored<ChangeDecision>(decision, "change decision"))

export const findDecision = (
  store: Store["Service"],
  setId: ChangeSetId,
  id: ChangeDecisionId
): { readonly decision: ChangeDecision; readonly parts: DecidedParts } | undefined => {
  const row = store.get<StoredDecision & { readonly parts: string }>(
    "SELECT decision, parts FROM change_decisions WHERE id = ? AND set_id = ?",
    id,
    setId
  )
  return row === undefined
    ? undefined
    : {
        decision: parseStored<ChangeDecision>(row.decision, "change decision"),
        parts: parseStored<DecidedParts>(row.parts, "change decision")
      }
}

/** Files of a decision that were undone before. */
export const undoneFiles = (
  store: Store["Service"],
  setId: ChangeSetId,
  id: ChangeDecisionId
): ReadonlySet<ChangedFileId> =>
  new Set(
    store
      .all<{ readonly parts: string }>(
        "SELECT parts FROM change_decisions WHERE set_id = ? AND json_extract(decision, '$.reverses') = ?",
        setId,
        id
      )
      .flatMap(({ parts }) => parseStored<DecidedParts>(parts, "change decision").files)
      .map((file) => file.id)
  )

export const insertDecision = (decision: ChangeDecision, parts: DecidedParts): Write => [
  "INSERT INTO change_decisions (id, set_id, decision, parts) VALUES (?, ?, ?, ?)",
  decision.id,
  decision.changeSetId,
  JSON.stringify(decision),
  JSON.stringify(parts)
]

export const updateDecision = (decision: ChangeDecision): Write => [
  "UPDATE change_decisions SET decision = ? WHERE id = ?",
  JSON.stringify(decision),
  decision.id
]

/** The newest decisions of a set after one, newest first. */
export const decisionsAfter = (
  store: Store["Service"],
  setId: ChangeSetId,
  after: string,
  limit: number
): ReadonlyArray<ChangeDecision> =>
  store
    .all<StoredDecision>(
      "SELECT decision FROM change_decisions WHERE set_id = ? AND id > ? ORDER BY id DESC LIMIT ?",
      setId,
      after,
      limit
    )
    .map(({ decision }) => parseStored<ChangeDecision>(decision, "change decision"))

/**
 * A decision in progress. `staging`: the files are as before, and versions are beside. `ready`: files may have changed. `done`: it
 * is decided, and only versions beside are left.
 */
export interface JournalEntry {
  readonly setId: ChangeSetId
  /** A run of the set. */
  readonly runId: RunId
  readonly state: "staging" | "ready" | "done"
  readonly place: DecisionPlace
  /** Real path of the workspace. */
  readonly root: string
  readonly plan: RecordedPlan
}

export const putJournal = (id: ChangeDecisionId, entry: JournalEntry): Write => [
  "INSERT OR REPLACE INTO change_journal (id, entry) VALUES (?, ?)",
  id,
  JSON.stringify(entry)
]

export const dropJournal = (id: ChangeDecisionId): Write => ["DELETE FROM change_journal WHERE id = ?", id]

export const journalEntries = (store: Store["Service"]): ReadonlyArray<JournalEntry> =>
  store
    .all<{ readonly entry: string }>("SELECT entry FROM change_journal ORDER BY id")
    .map(({ entry }) => parseStored<JournalEntry>(entry, "change journal"))

/** Deletes what is stored of a set. */
export const forgetSet = (setId: ChangeSetId): ReadonlyArray<Write> => [
  ["DELETE FROM change_decisions WHERE set_id = ?", setId],
  ["DELETE FROM change_sets WHERE id = ?", setId],
  ["DELETE FROM change_journal WHERE json_extract(entry, '$.setId') = ?", setId],
  ["DELETE FROM change_pushes WHERE set_id = ?", setId]
]
