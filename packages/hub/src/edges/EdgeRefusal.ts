/**
 * Meaning of an Edge's refusals at the Hub, per command. An error code without a meaning here gives `undefined`: the Edge broke the contract.
 */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ConflictSides } from "@corral/domain/edge-api/ChangeSet"
import { type ErrorCode, errorTable, isErrorCode, ValidationIssue } from "@corral/domain/errors/ErrorTable"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  ChangesOutdated,
  ChangesUnknown,
  Conflict,
  InputAlreadyResolved,
  InputExpired,
  MergeConflict,
  NotFound,
  Overloaded,
  PayloadTooLarge,
  PermissionDenied,
  RunActive,
  RunNotCancellable,
  SchemaValidationFailed,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import { InputState } from "@corral/domain/input/InputRequest"
import type { RunFailure } from "@corral/domain/run/Run"
import { finishRefusal, pauseRefusal } from "@corral/domain/run/RunRefusals"
import { UnknownChanges } from "@corral/domain/changes/UnknownChanges"
import { Data, Option, Schema } from "effect"

/** Refusal to start a run, with any code of the error table. */
export class StartRefused extends Data.TaggedError("StartRefused")<{
  readonly code: ErrorCode
  readonly message: string
}> {}

/** Refusal to read a workspace. */
export type ReadRefusal = NotFound | PermissionDenied | WorkspaceOutsideAllowlist

/** Refusal of a decision. */
export type DecisionRefusal =
  | ApprovalAlreadyResolved
  | ApprovalExpired
  | PermissionDenied
  | SchemaValidationFailed

type FailureClass<E> = new (options: {
  readonly message?: string
  readonly details?: Readonly<Record<string, unknown>>
}) => E

/** Maps codes of the Edge to failures. A code that is mapped to another code gets that code's default message. */
const mapCodes = <E extends { readonly code: ErrorCode }>(
  ...mapped: ReadonlyArray<readonly [code: ErrorCode, failure: FailureClass<E>]>
) => {
  const byCode = new Map<string, FailureClass<E>>(mapped)
  return ({ code, details, message }: RunFailure): E | undefined => {
    const Failure = byCode.get(code)
    if (Failure === undefined) return undefined
    const plain = new Failure({})
    return plain.code === code
      ? new Failure({ message, ...(details === undefined ? {} : { details }) })
      : plain
  }
}

export const toStartRefusal = ({ code, message }: RunFailure): StartRefused | undefined => {
  if (code === "target_offline") return undefined
  return isErrorCode(code)
    ? new StartRefused({ code, message })
    : new StartRefused({ code: "internal", message: errorTable.internal.message })
}

export const toCancelRefusal = mapCodes<Overloaded | RunNotCancellable>(
  ["run_not_cancellable", RunNotCancellable],
  // A run that the Edge no longer has ended long ago.
  ["not_found", RunNotCancellable],
  ["overloaded", Overloaded]
)

/** A run that the Edge no longer has ended long ago. */
export const toPauseRefusal = (error: RunFailure): Conflict | Overloaded | undefined =>
  error.code === "not_found" ? pauseRefusal("ended") : pauseCodes(error)

const pauseCodes = mapCodes<Conflict | Overloaded>(["conflict", Conflict], ["overloaded", Overloaded])

export const toInputRefusal = mapCodes<Conflict | Overloaded | PermissionDenied>(
  ["overloaded", Overloaded],
  ["conflict", Conflict],
  ["permission_denied", PermissionDenied],
  ["not_found", PermissionDenied]
)

/** Reads of a run. Missing and forbidden are indistinguishable. */
export const toRunReadRefusal = mapCodes<Overloaded | PermissionDenied>(
  ["not_found", PermissionDenied],
  ["permission_denied", PermissionDenied],
  ["overloaded", Overloaded]
)

const unknownChanges = Schema.decodeUnknownOption(UnknownChanges)

export const toDiffRefusal = (
  error: RunFailure
): ChangesUnknown | Overloaded | PermissionDenied | undefined => {
  return error.code === "changes_unknown" ? toUnknownChanges(error) : toRunReadRefusal(error)
}

const toUnknownChanges = ({ details, message }: RunFailure): ChangesUnknown | undefined => {
  const decoded = unknownChanges(details)
  return Option.isNone(decoded) ? undefined : new ChangesUnknown({ message, details: decoded.value })
}

const workspaceCodes = [
  ["overloaded", Overloaded],
  ["not_found", NotFound],
  ["permission_denied", PermissionDenied],
  ["workspace_outside_allowlist", WorkspaceOutsideAllowlist]
] as const

export const toFindFilesRefusal = mapCodes<Overloaded | WorkspaceOutsideAllowlist>(
  ["overloaded", Overloaded],
  ["workspace_outside_allowlist", WorkspaceOutsideAllowlist]
)

export const toListFilesRefusal = mapCodes<Overloaded | ReadRefusal>(...workspaceCodes)

export const toReadFileRefusal = mapCodes<Overloaded | PayloadTooLarge | ReadRefusal>(...workspaceCodes, [
  "payload_too_large",
  PayloadTooLarge
])

export const overloadRefusal = mapCodes<Overloaded>(["overloaded", Overloaded])

/** The caller may see the run, so it may also learn that the preview is closed. */
export const toPreviewRefusal = (error: RunFailure): NotFound | Overloaded | undefined =>
  error.code === "not_found" ? new NotFound({ message: "The preview is closed." }) : overloadRefusal(error)

const decisionDetails = Schema.decodeUnknownOption(
  Schema.Struct({ approvalId: ApprovalId, state: ApprovalState })
)

export const toDecisionRefusal = (error: RunFailure): DecisionRefusal | Overloaded | undefined => {
  const { code, details, message } = error
  if (code === "schema_validation_failed")
    return new SchemaValidationFailed({ details: { issues: [{ path: "updatedInput", message }] } })
  if (code !== "approval_already_resolved" && code !== "approval_expired") return toRunReadRefusal(error)
  const decoded = decisionDetails(details)
  if (Option.isNone(decoded)) return undefined
  const options = { message, details: decoded.value }
  return code === "approval_expired" ? new ApprovalExpired(options) : new ApprovalAlreadyResolved(options)
}

/** Refusal of an answer to a question. */
export type AnswerRefusal =
  | Conflict
  | InputAlreadyResolved
  | InputExpired
  | PermissionDenied
  | SchemaValidationFailed

const inputDetails = Schema.decodeUnknownOption(
  Schema.Struct({
    inputId: InputRequestId,
    state: InputState,
    answeredBy: Schema.optionalKey(Schema.String)
  })
)
const issueDetails = Schema.decodeUnknownOption(Schema.Struct({ issues: Schema.Array(ValidationIssue) }))

/** Invalid fields; `path` where the Edge names none. */
const invalidFields = ({ details, message }: RunFailure, path: string): SchemaValidationFailed =>
  new SchemaValidationFailed({
    details: { issues: Option.getOrUndefined(issueDetails(details))?.issues ?? [{ path, message }] }
  })

export const toAnswerRefusal = (error: RunFailure): AnswerRefusal | Overloaded | undefined => {
  const { code, details, message } = error
  if (code === "schema_validation_failed") return invalidFields(error, "answers")
  if (code === "conflict") return new Conflict({ message })
  if (code !== "input_already_resolved" && code !== "input_expired") return toRunReadRefusal(error)
  const decoded = inputDetails(details)
  if (Option.isNone(decoded)) return undefined
  const options = { message, details: decoded.value }
  return code === "input_expired" ? new InputExpired(options) : new InputAlreadyResolved(options)
}

/** A run that the Edge no longer has leaves nothing to remove. */
export const toDiscardRefusal = mapCodes<Conflict | NotFound | Overloaded>(
  ["conflict", Conflict],
  ["not_found", NotFound],
  ["overloaded", Overloaded]
)

/** A run that the Edge no longer has ended long ago. */
export const toFinishRefusal = (error: RunFailure): Conflict | Overloaded | undefined =>
  error.code === "not_found" ? finishRefusal("ended") : pauseCodes(error)

/** Refusal to read the changes of a run. */
export type ChangesReadRefusal =
  | ChangesUnknown
  | Conflict
  | NotFound
  | PayloadTooLarge
  | WorkspaceOutsideAllowlist

const changesReadCodes = mapCodes<Exclude<ChangesReadRefusal, ChangesUnknown> | Overloaded>(
  ["not_found", NotFound],
  ["payload_too_large", PayloadTooLarge],
  ["workspace_outside_allowlist", WorkspaceOutsideAllowlist],
  ["overloaded", Overloaded]
)

export const toChangesReadRefusal = (error: RunFailure): ChangesReadRefusal | Overloaded | undefined =>
  error.code === "changes_unknown" ? toUnknownChanges(error) : changesReadCodes(error)

/** Refusal of a decision about changes. */
export type ChangesDecisionRefusal =
  | ChangesOutdated
  | ChangesReadRefusal
  | MergeConflict
  | PermissionDenied
  | RunActive
  | SchemaValidationFailed

const changesDecisionCodes = mapCodes<
  Exclude<ChangesDecisionRefusal, ChangesUnknown | MergeConflict | SchemaValidationFailed> | Overloaded
>(
  ["run_active", RunActive],
  ["changes_outdated", ChangesOutdated],
  ["conflict", Conflict],
  ["permission_denied", PermissionDenied],
  ["not_found", NotFound],
  ["payload_too_large", PayloadTooLarge],
  ["workspace_outside_allowlist", WorkspaceOutsideAllowlist],
  ["overloaded", Overloaded]
)

const conflictDetails = Schema.decodeUnknownOption(Schema.Struct({ files: Schema.Array(ConflictSides) }))

export const toChangesDecisionRefusal = (
  error: RunFailure
): ChangesDecisionRefusal | Overloaded | undefined => {
  const { code, details, message } = error
  if (code === "changes_unknown") return toUnknownChanges(error)
  if (code === "schema_validation_failed") return invalidFields(error, "parts")
  if (code !== "merge_conflict") return changesDecisionCodes(error)
  const decoded = conflictDetails(details)
  return Option.isNone(decoded) ? undefined : new MergeConflict({ message, details: decoded.value })
}

/** Refusal of a change of a preset. */
export type PresetRefusal = Conflict | NotFound | PermissionDenied | SchemaValidationFailed

const presetCodes = mapCodes<Overloaded | PresetRefusal>(
  ["conflict", Conflict],
  ["not_found", NotFound],
  ["permission_denied", PermissionDenied],
  ["overloaded", Overloaded]
)

export const toPresetRefusal = (error: RunFailure): Overloaded | PresetRefusal | undefined =>
  error.code === "schema_validation_failed" ? invalidFields(error, "settings") : presetCodes(error)
