/**
 * Commands of a Hub to an Edge, and their results. A command has an id. The Edge executes it once, even if it arrives again.
 */
import { Schema } from "effect"
import { Approval, DecideApproval, DecisionOrigin } from "../approval/Approval.ts"
import {
  AcceptChanges,
  ChangedFile,
  ChangedFileContent,
  ChangeHunk,
  ChangeSet,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "../edge-api/ChangeSet.ts"
import { Artifact } from "../run/Artifact.ts"
import { AnswerInput, InputRequest } from "../input/InputRequest.ts"
import { Diff } from "../edge-api/Diff.ts"
import { MAX_LIMIT } from "../http/Page.ts"
import { ArtifactId, ChangedFileId, MessageId, PreviewId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { OpenedPreview } from "../device/Preview.ts"
import { Preset, PresetChange } from "../run/Preset.ts"
import { CreateRun, Run, RunFailure, RunInput } from "../run/Run.ts"
import { FileEntry, FilePreview, FileQuery, FoundFiles, WorkspacePath } from "../device/Workspace.ts"
import { Attachment } from "../session/Attachment.ts"
import { MAX_ATTACHMENTS } from "../session/AttachmentRules.ts"

const workspacePath = { workspace: WorkspaceId, path: WorkspacePath }

/** Largest chunk of an artifact in one result, in bytes. */
export const MAX_CHUNK_BYTES = 512 * 1024
/** Position in a file, in bytes. */
export const ByteOffset = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Chunk of an artifact from `offset`. `size` is the whole artifact in bytes. */
const ArtifactChunk = Schema.Struct({ artifact: Artifact, base64: Schema.String, size: Schema.Int })

/** Largest number of files of earlier messages in one command. */
export const MAX_EARLIER_ATTACHMENTS = 20

/**
 * Files that the Edge reads from the Hub (`ReadAttachment`) before it executes the command: those of the message, and those of earlier
 * messages, for a runtime that does not remember them.
 */
export const CommandAttachments = Schema.Struct({
  message: Schema.Array(Attachment).check(Schema.isMaxLength(MAX_ATTACHMENTS)),
  earlier: Schema.Array(Attachment).check(Schema.isMaxLength(MAX_EARLIER_ATTACHMENTS))
})
export type CommandAttachments = typeof CommandAttachments.Type

/** Listed in an offer with the commands: the Edge accepts attachments. */
export const ATTACHMENTS_FEATURE = "attachments"

const attachments = Schema.optionalKey(CommandAttachments)

/** Listed in an offer with the commands: runs of the Edge can have questions, further turns and work in the background. */
export const INPUTS_FEATURE = "inputs"

/** Listed in an offer with the commands: the Edge has the isolation `overlay`. */
export const LAYERS_FEATURE = "layers"

/** Listed in an offer with the commands: the Edge has groups of runs, checks, and comments and edits in decisions about changes. */
export const CANDIDATES_FEATURE = "candidates"

const answeredBy = { by: Schema.String, origin: Schema.optionalKey(DecisionOrigin) }

const pause = Schema.Struct({ runId: RunId, by: Schema.String, reason: Schema.optionalKey(Schema.String) })

/** Without a default, as a Hub sends it. */
const PageLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT }))

/** Where a page begins: `next` of the page before. Only the Edge gives it a meaning. */
const PagePosition = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(700))

const pageOfChanges = { after: Schema.optionalKey(PagePosition), limit: PageLimit }
/** `next` is null on the last page. A page may be shorter than its limit. */
const changesPage = <Item extends Schema.Top>(item: Item) => ({
  items: Schema.Array(item),
  next: Schema.NullOr(PagePosition)
})

const { file, sides, version } = ChangedFileContent.fields

/** Payload and result of each command, by name. */
export const edgeCommands = {
  StartRun: { payload: Schema.Struct({ runId: RunId, create: CreateRun, attachments }), success: Run },
  CancelRun: {
    payload: Schema.Struct({ runId: RunId, by: Schema.String, reason: Schema.optionalKey(Schema.String) }),
    success: Run
  },
  PauseRun: { payload: pause, success: Run },
  ResumeRun: { payload: pause, success: Run },
  SendInput: {
    /** `messageId`: the Edge logs the input under this id. Early versions of the Edge choose their own. */
    payload: Schema.Struct({
      runId: RunId,
      input: RunInput,
      by: Schema.String,
      messageId: Schema.optionalKey(MessageId),
      attachments
    }),
    success: Run
  },
  DecideApproval: {
    /** Early versions of the Hub do not send `origin`. */
    payload: Schema.Struct({
      ...DecideApproval.fields,
      by: Schema.String,
      origin: Schema.optionalKey(DecisionOrigin)
    }),
    success: Approval
  },
  AnswerInput: {
    payload: Schema.Struct({ answer: AnswerInput, ...answeredBy }),
    success: InputRequest
  },
  /** Ends the background work of an idle run. */
  FinishRun: { payload: Schema.Struct({ runId: RunId, by: Schema.String }), success: Run },
  ReadDiff: { payload: Schema.Struct({ runId: RunId }), success: Diff },
  ReadChanges: {
    payload: Schema.Struct({ runId: RunId, ...pageOfChanges }),
    success: Schema.Struct({ set: ChangeSet, ...changesPage(ChangedFile) })
  },
  ReadChangedFile: {
    payload: Schema.Struct({
      runId: RunId,
      fileId: ChangedFileId,
      context: Schema.optionalKey(Schema.Int),
      ...pageOfChanges
    }),
    success: Schema.Struct({ file, version, sides, ...changesPage(ChangeHunk) })
  },
  /** Accepts or rejects parts of the run's change set. Only an acceptance has edits, and only a rejection comments. */
  DecideChanges: {
    payload: Schema.Struct({
      runId: RunId,
      kind: Schema.Literals(["accept", "reject"]),
      request: Schema.Struct({ ...RejectChanges.fields, edits: AcceptChanges.fields.edits }),
      ...answeredBy
    }),
    success: DecidedChanges
  },
  UndoChanges: {
    payload: Schema.Struct({ runId: RunId, request: UndoChanges, ...answeredBy }),
    success: DecidedChanges
  },
  /**
   * Removes the layer or the worktree of an ended run with everything undecided in it. Succeeds if there is none. `conflict` while a run of it is
   * live.
   */
  DiscardChanges: {
    payload: Schema.Struct({ runId: RunId, by: Schema.String }),
    success: Schema.Struct({ removed: Schema.Boolean })
  },
  ListArtifacts: { payload: Schema.Struct({ runId: RunId }), success: Schema.Array(Artifact) },
  ReadArtifact: {
    /** The artifact must belong to the run. */
    payload: Schema.Struct({ runId: RunId, artifactId: ArtifactId, offset: ByteOffset }),
    success: ArtifactChunk
  },
  /** Creates a new address of a preview for a browser on the Edge's machine. The preview must belong to the run. */
  OpenPreview: { payload: Schema.Struct({ runId: RunId, previewId: PreviewId }), success: OpenedPreview },
  ListFiles: { payload: Schema.Struct(workspacePath), success: Schema.Array(FileEntry) },
  ReadFile: { payload: Schema.Struct(workspacePath), success: FilePreview },
  FindFiles: {
    payload: Schema.Struct({ workspace: WorkspaceId, query: FileQuery, limit: PageLimit }),
    success: FoundFiles
  },
  ListPresets: { payload: Schema.Struct({}), success: Schema.Array(Preset) },
  /** The answer has the preset as it is then, unless it was removed. */
  ChangePreset: {
    payload: Schema.Struct({ change: PresetChange, by: Schema.String }),
    success: Schema.Struct({ preset: Schema.optionalKey(Preset) })
  }
} as const

export type CommandName = keyof typeof edgeCommands
export type CommandPayload<N extends CommandName> = (typeof edgeCommands)[N]["payload"]["Type"]
export type CommandSuccess<N extends CommandName> = (typeof edgeCommands)[N]["success"]["Type"]

/** Id of a command, chosen by the Hub. The Edge executes each id once. */
export const CommandId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._-]{1,128}$/u, { expected: "a command id" })
).pipe(Schema.brand("CommandId"))
export type CommandId = typeof CommandId.Type

const command = <N extends CommandName, P extends Schema.Top>(
  name: N,
  { payload }: { readonly payload: P }
) =>
  Schema.Struct({
    name: Schema.Literal(name),
    commandId: CommandId,
    /** Id of the request that caused the command. */
    requestId: Schema.optionalKey(Schema.String),
    traceparent: Schema.optionalKey(Schema.String),
    payload
  })

/** A command as the link carries it. */
export const EdgeCommand = Schema.Union([
  command("StartRun", edgeCommands.StartRun),
  command("CancelRun", edgeCommands.CancelRun),
  command("PauseRun", edgeCommands.PauseRun),
  command("ResumeRun", edgeCommands.ResumeRun),
  command("SendInput", edgeCommands.SendInput),
  command("DecideApproval", edgeCommands.DecideApproval),
  command("AnswerInput", edgeCommands.AnswerInput),
  command("FinishRun", edgeCommands.FinishRun),
  command("ReadDiff", edgeCommands.ReadDiff),
  command("ReadChanges", edgeCommands.ReadChanges),
  command("ReadChangedFile", edgeCommands.ReadChangedFile),
  command("DecideChanges", edgeCommands.DecideChanges),
  command("UndoChanges", edgeCommands.UndoChanges),
  command("DiscardChanges", edgeCommands.DiscardChanges),
  command("ListArtifacts", edgeCommands.ListArtifacts),
  command("ReadArtifact", edgeCommands.ReadArtifact),
  command("OpenPreview", edgeCommands.OpenPreview),
  command("ListFiles", edgeCommands.ListFiles),
  command("ReadFile", edgeCommands.ReadFile),
  command("FindFiles", edgeCommands.FindFiles),
  command("ListPresets", edgeCommands.ListPresets),
  command("ChangePreset", edgeCommands.ChangePreset)
])
export type EdgeCommand = typeof EdgeCommand.Type

/** Outcome of a command. The `success` schema of the command decodes `value`. `error.code` is a code of the error table. */
export const CommandOutcome = Schema.Union([
  Schema.TaggedStruct("Done", { value: Schema.Unknown }),
  Schema.TaggedStruct("Refused", { error: RunFailure })
])
export type CommandOutcome = typeof CommandOutcome.Type
