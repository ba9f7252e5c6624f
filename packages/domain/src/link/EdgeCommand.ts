/**
 * What a Hub asks of an Edge, and what each command answers. A command has an id and is executed once, however often it arrives.
 */
import { Schema } from "effect"
import { Approval, DecideApproval, DecisionOrigin } from "../approval/Approval.ts"
import { Artifact } from "../run/Artifact.ts"
import { Diff } from "../edge-api/Diff.ts"
import { ArtifactId, PreviewId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { OpenedPreview } from "../device/Preview.ts"
import { CreateRun, Run, RunFailure, RunInput } from "../run/Run.ts"
import { FileEntry, FilePreview, WorkspacePath } from "../device/Workspace.ts"

const workspacePath = { workspace: WorkspaceId, path: WorkspacePath }

/** Bytes of one answer at most. */
export const MAX_CHUNK_BYTES = 512 * 1024
const ByteOffset = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Bytes of an artifact from `offset`; `size` is that of the whole. */
const ArtifactChunk = Schema.Struct({ artifact: Artifact, base64: Schema.String, size: Schema.Int })

/** Name → what it takes and what it answers. */
export const edgeCommands = {
  StartRun: { payload: Schema.Struct({ runId: RunId, create: CreateRun }), success: Run },
  CancelRun: {
    payload: Schema.Struct({ runId: RunId, by: Schema.String, reason: Schema.optionalKey(Schema.String) }),
    success: Run
  },
  SendInput: { payload: Schema.Struct({ runId: RunId, input: RunInput, by: Schema.String }), success: Run },
  DecideApproval: {
    /** A Hub of before does not say the origin. */
    payload: Schema.Struct({
      ...DecideApproval.fields,
      by: Schema.String,
      origin: Schema.optionalKey(DecisionOrigin)
    }),
    success: Approval
  },
  ReadDiff: { payload: Schema.Struct({ runId: RunId }), success: Diff },
  ListArtifacts: { payload: Schema.Struct({ runId: RunId }), success: Schema.Array(Artifact) },
  ReadArtifact: {
    /** An artifact of that run, and of no other. */
    payload: Schema.Struct({ runId: RunId, artifactId: ArtifactId, offset: ByteOffset }),
    success: ArtifactChunk
  },
  /** A preview of that run, and of no other, with a fresh address for a browser on the Edge's machine. */
  OpenPreview: { payload: Schema.Struct({ runId: RunId, previewId: PreviewId }), success: OpenedPreview },
  ListFiles: { payload: Schema.Struct(workspacePath), success: Schema.Array(FileEntry) },
  ReadFile: { payload: Schema.Struct(workspacePath), success: FilePreview }
} as const

export type CommandName = keyof typeof edgeCommands
export type CommandPayload<N extends CommandName> = (typeof edgeCommands)[N]["payload"]["Type"]
export type CommandSuccess<N extends CommandName> = (typeof edgeCommands)[N]["success"]["Type"]

/** The Hub's own name of one command: what makes executing it twice impossible. */
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
    /** Correlation with the request that caused it. */
    requestId: Schema.optionalKey(Schema.String),
    traceparent: Schema.optionalKey(Schema.String),
    payload
  })

/** One command on its way to an Edge. */
export const EdgeCommand = Schema.Union([
  command("StartRun", edgeCommands.StartRun),
  command("CancelRun", edgeCommands.CancelRun),
  command("SendInput", edgeCommands.SendInput),
  command("DecideApproval", edgeCommands.DecideApproval),
  command("ReadDiff", edgeCommands.ReadDiff),
  command("ListArtifacts", edgeCommands.ListArtifacts),
  command("ReadArtifact", edgeCommands.ReadArtifact),
  command("OpenPreview", edgeCommands.OpenPreview),
  command("ListFiles", edgeCommands.ListFiles),
  command("ReadFile", edgeCommands.ReadFile)
])
export type EdgeCommand = typeof EdgeCommand.Type

/** What came of it. `value` is decoded by the command's own `success`; `error.code` is a code of the error table. */
export const CommandOutcome = Schema.Union([
  Schema.TaggedStruct("Done", { value: Schema.Unknown }),
  Schema.TaggedStruct("Refused", { error: RunFailure })
])
export type CommandOutcome = typeof CommandOutcome.Type
