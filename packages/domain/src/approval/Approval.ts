/**
 * An approval: a risky action of a run, waiting for a person or a policy. A durable row; the first valid decision wins.
 */
import { Schema } from "effect"
import { shallow } from "../text/Depth.ts"
import { AgentId, ApprovalId, RunId, WorkspaceId } from "../identity/Ids.ts"

/** The contract's five classes of risky action. */
export const ActionClass = Schema.Literals(["write", "shell", "network", "publish", "deploy"])
export type ActionClass = typeof ActionClass.Type

export const Risk = Schema.Literals(["low", "medium", "high"])
export type Risk = typeof Risk.Type

export const ApprovalState = Schema.Literals(["pending", "approved", "denied", "expired", "cancelled"])
export type ApprovalState = typeof ApprovalState.Type

export const Decision = Schema.Literals(["allow", "deny", "cancel"])
export type Decision = typeof Decision.Type

export const DecisionScope = Schema.Literals(["once", "run", "session", "always"])
export type DecisionScope = typeof DecisionScope.Type

/** Where a decision was made. With `policy` no person was asked. */
export const DecisionOrigin = Schema.Literals(["console", "terminal", "chat", "editor", "policy"])
export type DecisionOrigin = typeof DecisionOrigin.Type

/** The record of a decision, the same in the event, in the approval and in the audit. Absent where the approval ended without one. */
export const decisionRecord = {
  decision: Schema.optionalKey(Decision),
  /** What the decision was really remembered for. */
  scope: Schema.optionalKey(DecisionScope),
  origin: Schema.optionalKey(DecisionOrigin),
  /** Whether an edited input was allowed instead of the requested one. */
  edited: Schema.optionalKey(Schema.Boolean)
}

/** One simple command of a shell line, as its person would read it. */
export const CommandSegment = Schema.Struct({
  text: Schema.String,
  /** The program that runs, wrappers such as `timeout 10` looked through. Absent if it cannot be determined. */
  program: Schema.optionalKey(Schema.String),
  /** Why the effect of the command is not known before it runs. */
  opaque: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "CommandSegment" })
export type CommandSegment = typeof CommandSegment.Type

/** Exactly what would happen: a command and its folder, or files and their patch. Paths are workspace-relative. */
export const ApprovalRequest = Schema.Struct({
  action: ActionClass,
  risk: Risk,
  /** One line for a list: `Write notes.txt`, `Run npm test`. */
  title: Schema.String,
  tool: Schema.optionalKey(Schema.String),
  callId: Schema.optionalKey(Schema.String),
  command: Schema.optionalKey(Schema.String),
  /** Every simple command that `command` would run, those in substitutions and conditions too. The Edge's reading of it. */
  segments: Schema.optionalKey(Schema.Array(CommandSegment)),
  cwd: Schema.optionalKey(Schema.String),
  files: Schema.optionalKey(Schema.Array(Schema.String)),
  patch: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  /** The runtime's own input of the tool; what `updatedInput` of a decision replaces. */
  input: Schema.optionalKey(Schema.Unknown),
  reason: Schema.optionalKey(Schema.String),
  /** Whether the runtime takes an edited input with the decision. */
  editable: Schema.Boolean,
  /** What a decision is remembered for, where it is allowed with that scope. A wider one is narrowed. */
  scopes: Schema.Array(DecisionScope)
}).annotate({ identifier: "ApprovalRequest" })
export type ApprovalRequest = typeof ApprovalRequest.Type

export const Approval = Schema.Struct({
  id: ApprovalId,
  runId: RunId,
  agentId: AgentId,
  workspace: WorkspaceId,
  state: ApprovalState,
  request: ApprovalRequest,
  requestedAt: Schema.String,
  expiresAt: Schema.String,
  resolvedAt: Schema.optionalKey(Schema.String),
  ...decisionRecord,
  reason: Schema.optionalKey(Schema.String),
  decidedBy: Schema.optionalKey(Schema.String),
  /** The edited input that ran instead of `request.input`, redacted like any output. */
  allowedInput: Schema.optionalKey(Schema.Unknown)
}).annotate({ identifier: "Approval" })
export type Approval = typeof Approval.Type

/** POST /v1/permissions/decide. `deny` sends the agent back to work with the reason; `cancel` ends the run. */
export const DecideApproval = Schema.Struct({
  runId: RunId,
  approvalId: ApprovalId,
  decision: Decision,
  scope: Schema.optionalKey(DecisionScope),
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096))),
  updatedInput: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown).check(shallow))
}).annotate({ identifier: "DecideApproval" })
export type DecideApproval = typeof DecideApproval.Type

/** A program that decides at the Edge itself for the user of an editor says so in this header; without it the decision is a terminal's. */
export const ORIGIN_HEADER = "x-corral-origin"
export const originHeaders = {
  [ORIGIN_HEADER]: Schema.optionalKey(Schema.Literals(["terminal", "editor"]))
}
