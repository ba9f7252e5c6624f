/**
 * Approval: a risky action of a run that waits for a decision of a user or a policy. A durable row. The first valid decision wins.
 */
import { Schema } from "effect"
import { shallow } from "../text/Depth.ts"
import { AgentId, ApprovalId, RunId, WorkspaceId } from "../identity/Ids.ts"

/** The contract's five classes of risky actions. */
export const ActionClass = Schema.Literals(["write", "shell", "network", "publish", "deploy"])
export type ActionClass = typeof ActionClass.Type

/** Estimated risk of an action. */
export const Risk = Schema.Literals(["low", "medium", "high"])
export type Risk = typeof Risk.Type

/** State of an approval. All states except `pending` are final. */
export const ApprovalState = Schema.Literals(["pending", "approved", "denied", "expired", "cancelled"])
export type ApprovalState = typeof ApprovalState.Type

/** A decision on an approval. After `deny` the agent continues without the action; `cancel` ends the run. */
export const Decision = Schema.Literals(["allow", "deny", "cancel"])
export type Decision = typeof Decision.Type

/** How far a decision reaches: this action, this run, later runs of the session, or all runs of the agent in the workspace. */
export const DecisionScope = Schema.Literals(["once", "run", "session", "always"])
export type DecisionScope = typeof DecisionScope.Type

/** Where a decision was made. `policy`: no user decided. */
export const DecisionOrigin = Schema.Literals(["console", "terminal", "chat", "editor", "policy"])
export type DecisionOrigin = typeof DecisionOrigin.Type

/** Fields that record a decision, equal in the event, the approval and the audit. Absent if the approval ended without a decision. */
export const decisionRecord = {
  decision: Schema.optionalKey(Decision),
  /** The scope that was applied. It can be narrower than the requested one. */
  scope: Schema.optionalKey(DecisionScope),
  origin: Schema.optionalKey(DecisionOrigin),
  /** Whether an edited input was allowed instead of the requested one. */
  edited: Schema.optionalKey(Schema.Boolean)
}

/** One simple command of a shell line, as the user reads it. */
export const CommandSegment = Schema.Struct({
  text: Schema.String,
  /** The program that runs, without wrappers such as `timeout 10`. Absent if it cannot be determined. */
  program: Schema.optionalKey(Schema.String),
  /** Why the effect of the command is not known before it runs. */
  opaque: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "CommandSegment" })
export type CommandSegment = typeof CommandSegment.Type

/** The exact action to decide: a command and its folder, or files and their patch. Paths are relative to the workspace. */
export const ApprovalRequest = Schema.Struct({
  action: ActionClass,
  risk: Risk,
  /** One line for a list: `Write notes.txt`, `Run npm test`. */
  title: Schema.String,
  tool: Schema.optionalKey(Schema.String),
  callId: Schema.optionalKey(Schema.String),
  /** The tool call of the sub-agent that asks. */
  parentCallId: Schema.optionalKey(Schema.String),
  command: Schema.optionalKey(Schema.String),
  /** Every simple command that `command` would run, as the Edge parsed it, including substitutions and conditions. */
  segments: Schema.optionalKey(Schema.Array(CommandSegment)),
  cwd: Schema.optionalKey(Schema.String),
  files: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Whether the action only reads `files`. */
  readsOnly: Schema.optionalKey(Schema.Boolean),
  patch: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  /** Input of the tool in the runtime's format. `updatedInput` of a decision replaces it. */
  input: Schema.optionalKey(Schema.Unknown),
  reason: Schema.optionalKey(Schema.String),
  /** Whether the runtime accepts an edited input with the decision. */
  editable: Schema.Boolean,
  /** Scopes that a decision can have here. A wider scope is narrowed to one of them. */
  scopes: Schema.Array(DecisionScope)
}).annotate({ identifier: "ApprovalRequest" })
export type ApprovalRequest = typeof ApprovalRequest.Type

/** An approval with its request and its decision. Times are ISO 8601. */
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
  /** The edited input that ran instead of `request.input`. Redacted like any output. */
  allowedInput: Schema.optionalKey(Schema.Unknown)
}).annotate({ identifier: "Approval" })
export type Approval = typeof Approval.Type

/** Body of POST /v1/permissions/decide. After `deny` the agent continues and receives the reason; `cancel` ends the run. */
export const DecideApproval = Schema.Struct({
  runId: RunId,
  approvalId: ApprovalId,
  decision: Decision,
  scope: Schema.optionalKey(DecisionScope),
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096))),
  updatedInput: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown).check(shallow))
}).annotate({ identifier: "DecideApproval" })
export type DecideApproval = typeof DecideApproval.Type

/**
 * Request header with the origin of a decision that a person makes in a program. At an Edge the default is `terminal`. A Hub knows the client by its
 * sign-in, and accepts only `editor` from people.
 */
export const ORIGIN_HEADER = "x-corral-origin"
export const originHeaders = {
  [ORIGIN_HEADER]: Schema.optionalKey(Schema.Literals(["terminal", "editor"]))
}
