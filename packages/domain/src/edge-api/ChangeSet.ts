/**
 * Change set: what a layer, a worktree or a run changed compared with its base, as files and hunks that a person accepts or rejects. The
 * workspace need not be a repository.
 *
 * Guarantees: ids are hashes of content, so they survive decisions about other parts. A request names ids only; what is applied is what the
 * Edge has under these ids.
 */
import { Schema } from "effect"
import { DecisionOrigin } from "../approval/Approval.ts"
import {
  EditedLines,
  MAX_CHANGE_COMMENTS,
  MAX_COMMENT_TEXT,
  RejectedPart
} from "../changes/EarlierDecision.ts"
import { DiffHunk } from "./Diff.ts"
import { page } from "../http/Page.ts"
import {
  AgentId,
  ChangeDecisionId,
  ChangedFileId,
  ChangeHunkId,
  ChangeSetId,
  RunId,
  SessionId,
  TaskGroupId,
  WorkspaceId
} from "../identity/Ids.ts"
import { RunChecks } from "../run/Check.ts"
import { Isolation } from "../run/Run.ts"
import { WorktreeCommit } from "../run/Worktree.ts"

/** Largest number of files of a set that have hunks. Files of a larger set are decided as a whole. */
export const MAX_FILES_WITH_HUNKS = 10_000
/** Largest version of a file, in bytes, that has hunks. */
export const MAX_HUNK_FILE_BYTES = 5 * 1_048_576
/** Largest number of ids in one request. */
export const MAX_DECIDED_IDS = 10_000

/** `open`: something is undecided. `decided`: everything is decided. `empty`: nothing was ever changed. */
export const ChangeSetState = Schema.Literals(["open", "decided", "empty"])
export type ChangeSetState = typeof ChangeSetState.Type

/** Why a file is not part of `all`: a person names it. */
export const ApartReason = Schema.Literals([
  /** A name that the workspace protects, such as a hook or a settings file of an agent. */
  "protected_name",
  /** An added line has a secret. */
  "secret",
  /** A new program, or a file that becomes one. */
  "new_program",
  /** A link that leaves the workspace. */
  "outside_link",
  /** A set-user-id or set-group-id bit. */
  "set_id"
])
export type ApartReason = typeof ApartReason.Type

export const ChangedFileStatus = Schema.Literals(["added", "modified", "deleted", "renamed"])
export type ChangedFileStatus = typeof ChangedFileStatus.Type

/**
 * A file of a change set. `hunks` counts what is undecided of it; a file that is decided as a whole has one. `mode` is octal, as git writes it, such as `100755` for a program
 * and `120000` for a link.
 */
export const ChangedFile = Schema.Struct({
  id: ChangedFileId,
  /** For people. Bytes that are not UTF-8 are marked. */
  path: Schema.String,
  fromPath: Schema.optionalKey(Schema.String),
  status: ChangedFileStatus,
  /** Modes that differ. */
  oldMode: Schema.optionalKey(Schema.String),
  mode: Schema.optionalKey(Schema.String),
  binary: Schema.Boolean,
  additions: Schema.Int,
  deletions: Schema.Int,
  hunks: Schema.Int,
  /** Hash of what is undecided of the file. */
  version: Schema.String,
  /** Hash of the content and mode that the change gives the file. Equal in sets that change the file in the same way. Absent if it is deleted. */
  result: Schema.optionalKey(Schema.String),
  /** Why the file is decided as a whole, if it is. */
  whole: Schema.optionalKey(
    Schema.Literals(["binary", "mode", "link", "added", "deleted", "renamed", "large", "many_files"])
  ),
  apart: Schema.optionalKey(Schema.Array(ApartReason)),
  /** The person's edit and the change overlap: the layer has its own version of the file. */
  conflict: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "ChangedFile" })
export type ChangedFile = typeof ChangedFile.Type

/** A hunk with its id. All hunks of a file that is decided as a whole have the same. Without text to show, it has no lines. */
export const ChangeHunk = Schema.Struct({ id: ChangeHunkId, ...DiffHunk.fields }).annotate({
  identifier: "ChangeHunk"
})
export type ChangeHunk = typeof ChangeHunk.Type

/** A decision about parts of a change set. Not an event of a run: the terminal event of a run stays its last one. */
export const ChangeDecision = Schema.Struct({
  id: ChangeDecisionId,
  changeSetId: ChangeSetId,
  /** The newest run of the set at the decision. */
  runId: RunId,
  kind: Schema.Literals(["accept", "reject", "undo"]),
  by: Schema.optionalKey(Schema.String),
  origin: Schema.optionalKey(DecisionOrigin),
  /** The first 100 files, with the number of decided hunks. */
  files: Schema.Array(
    Schema.Struct({
      id: ChangedFileId,
      path: Schema.String,
      hunks: Schema.Int,
      /** Hunks that were accepted as the person edited them. */
      edited: Schema.optionalKey(Schema.Int)
    })
  ),
  fileCount: Schema.Int,
  additions: Schema.Int,
  deletions: Schema.Int,
  /** Hunks that were accepted as the person edited them. */
  edited: Schema.optionalKey(Schema.Int),
  /** Of a rejection: the first 100 hunks, and the comments about files. */
  rejected: Schema.optionalKey(Schema.Array(RejectedPart)),
  /** SHA-256 of the applied patch, as hex. */
  patchHash: Schema.String,
  comment: Schema.optionalKey(Schema.String),
  /** Of an undo: the decision that it reverses. Absent if it reverses what the run wrote directly. */
  reverses: Schema.optionalKey(ChangeDecisionId),
  /** The undo that reversed this decision. */
  reversedBy: Schema.optionalKey(ChangeDecisionId),
  at: Schema.String
}).annotate({ identifier: "ChangeDecision" })
export type ChangeDecision = typeof ChangeDecision.Type

/** A change set without its files. `additions` and `deletions` count what is undecided. */
export const ChangeSet = Schema.Struct({
  id: ChangeSetId,
  /** The newest run that worked in it. */
  runId: RunId,
  sessionId: Schema.optionalKey(SessionId),
  agentId: AgentId,
  workspace: WorkspaceId,
  isolation: Isolation,
  /** The group whose base the set has. */
  groupId: Schema.optionalKey(TaskGroupId),
  state: ChangeSetState,
  /** Hash of base and result. */
  version: Schema.String,
  fileCount: Schema.Int,
  additions: Schema.Int,
  deletions: Schema.Int,
  /** Files that are not part of `all`. */
  apart: Schema.Int,
  conflicts: Schema.Int,
  /** Whether a run of the set is live: nothing can be decided. */
  live: Schema.Boolean,
  /** Whether the files were written directly: the set can be undone, not accepted. */
  direct: Schema.Boolean,
  /** Ignored files by top folder, at most 100. They stay in the layer. */
  ignored: Schema.Array(Schema.Struct({ folder: Schema.String, count: Schema.Int })),
  /** Commits of the agent, the newest 100, newest first. Their content is part of the changes. */
  commits: Schema.Array(WorktreeCommit),
  /** Paths that could not be compared, at most 100. With them, `all` is refused. */
  incomplete: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Absent if the newest run has none. */
  checks: Schema.optionalKey(RunChecks),
  /** Newest first, at most 100. */
  decisions: Schema.Array(ChangeDecision)
}).annotate({ identifier: "ChangeSet" })
export type ChangeSet = typeof ChangeSet.Type

/** A page of a change set, ordered by the bytes of the path. */
export const ChangeSetPage = Schema.Struct({
  ...page(ChangedFile).fields,
  set: ChangeSet
}).annotate({ identifier: "ChangeSetPage" })
export type ChangeSetPage = typeof ChangeSetPage.Type

/** Versions of a file in conflict, as text. A version that is binary or larger than 64 KiB is left out. */
export const ConflictSides = Schema.Struct({
  id: ChangedFileId,
  path: Schema.String,
  base: Schema.optionalKey(Schema.String),
  workspace: Schema.optionalKey(Schema.String),
  change: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ConflictSides" })
export type ConflictSides = typeof ConflictSides.Type

/** Undecided hunks of one file, in order, a page at a time. */
export const ChangedFileContent = Schema.Struct({
  ...page(ChangeHunk).fields,
  file: ChangedFile,
  version: Schema.String,
  /** Present if the file has a conflict. */
  sides: Schema.optionalKey(ConflictSides)
}).annotate({ identifier: "ChangedFileContent" })
export type ChangedFileContent = typeof ChangedFileContent.Type

const ids = <S extends Schema.Top>(id: S) =>
  Schema.optionalKey(Schema.Array(id).check(Schema.isMaxLength(MAX_DECIDED_IDS)))

/**
 * Parts of a change set: everything but what is apart, of one version; or files and hunks by their ids. The id of a file is that of its path:
 * `versions` has the versions that were shown, and a file with another one is refused.
 */
export const ChangeSelection = Schema.Union([
  Schema.Struct({ all: Schema.Literal(true), version: Schema.String }),
  Schema.Struct({
    files: ids(ChangedFileId),
    hunks: ids(ChangeHunkId),
    versions: Schema.optionalKey(Schema.Record(ChangedFileId, Schema.String))
  })
])
export type ChangeSelection = typeof ChangeSelection.Type

const comment = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096)))

/** A hunk as a person edited it. Of a file that is decided as a whole, only an added one of text can be edited. */
export const EditedHunk = Schema.Struct({ hunkId: ChangeHunkId, lines: EditedLines }).annotate({
  identifier: "EditedHunk"
})
export type EditedHunk = typeof EditedHunk.Type

/** Body of an acceptance. All or nothing. `edits`: hunks of `parts` that are written in another version. */
export const AcceptChanges = Schema.Struct({
  parts: ChangeSelection,
  edits: Schema.optionalKey(Schema.Array(EditedHunk).check(Schema.isMaxLength(MAX_CHANGE_COMMENTS)))
}).annotate({
  identifier: "AcceptChanges"
})
export type AcceptChanges = typeof AcceptChanges.Type

/** A comment about one hunk or one file of a rejection. `suggestion` is how the person would write the hunk. */
export const ChangeComment = Schema.Struct({
  hunkId: Schema.optionalKey(ChangeHunkId),
  fileId: Schema.optionalKey(ChangedFileId),
  text: Schema.String.check(Schema.isMaxLength(MAX_COMMENT_TEXT)),
  suggestion: Schema.optionalKey(EditedLines)
})
  .check(
    Schema.makeFilter(
      ({ fileId, hunkId }: { readonly fileId?: string; readonly hunkId?: string }) =>
        (fileId === undefined) !== (hunkId === undefined),
      { expected: "either a hunkId or a fileId" }
    ),
    Schema.makeFilter(
      ({ suggestion, text }: { readonly suggestion?: unknown; readonly text: string }) =>
        text.trim() !== "" || suggestion !== undefined,
      { expected: "a text or a suggestion" }
    )
  )
  .annotate({ identifier: "ChangeComment" })
export type ChangeComment = typeof ChangeComment.Type

/**
 * Body of a rejection. The rejected hunks, `comment` and `comments` reach the agent with the next message. Comments name hunks of `parts`, and files with
 * hunks of `parts`.
 */
export const RejectChanges = Schema.Struct({
  parts: ChangeSelection,
  comment,
  comments: Schema.optionalKey(Schema.Array(ChangeComment).check(Schema.isMaxLength(MAX_CHANGE_COMMENTS)))
}).annotate({
  identifier: "RejectChanges"
})
export type RejectChanges = typeof RejectChanges.Type

/** Body of an undo: of a decision, or, without one, of what the run wrote directly; all of it, or these files. */
export const UndoChanges = Schema.Struct({
  decisionId: Schema.optionalKey(ChangeDecisionId),
  files: ids(ChangedFileId)
}).annotate({ identifier: "UndoChanges" })
export type UndoChanges = typeof UndoChanges.Type

/** Answer to a decision. */
export const DecidedChanges = Schema.Struct({ decision: ChangeDecision, set: ChangeSet }).annotate({
  identifier: "DecidedChanges"
})
export type DecidedChanges = typeof DecidedChanges.Type
