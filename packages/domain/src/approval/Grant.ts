/**
 * Grant: an action that is allowed in advance and needs no approval. A user's grant covers exactly the action that the user saw. Only a grant
 * from the Edge's configuration covers more, by `prefix` or by a pattern of files.
 *
 * Does not: match actions. `GrantRules` of the Edge does.
 */
import { Schema } from "effect"
import { AgentId, ApprovalId, GrantId, SessionId, WorkspaceId } from "../identity/Ids.ts"

const text = Schema.String.check(Schema.isMaxLength(16_384))
const path = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_096))
const toolName = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256))
const tool = { tool: Schema.optionalKey(toolName) }

/** A file that a redirection writes, relative to the workspace. */
export const RedirectedFile = Schema.Struct({
  file: path,
  append: Schema.optionalKey(Schema.Literal(true))
})

/** Rule for one simple command: its assignments, program and arguments, as the program receives them. */
export const ShellRule = Schema.Struct({
  action: Schema.Literal("shell"),
  command: Schema.Array(text).check(Schema.isMinLength(1), Schema.isMaxLength(1_024)),
  /** Working directory, relative to the workspace. Default: the root of the workspace. */
  cwd: Schema.optionalKey(path),
  /** Whether more arguments may follow. They must not be options or name a path outside of the workspace. */
  prefix: Schema.optionalKey(Schema.Boolean),
  /** With `prefix`: further arguments that may follow, such as options, exactly as written. */
  options: Schema.optionalKey(Schema.Array(text.check(Schema.isMinLength(1))).check(Schema.isMaxLength(256))),
  /** With `prefix`: whether stdin may be a pipe, a here-document or a file of the workspace. */
  stdin: Schema.optionalKey(Schema.Literal(true)),
  /** Source of stdin: the commands before it in the pipe, a here-document, or a file. */
  input: Schema.optionalKey(text),
  writes: Schema.optionalKey(Schema.Array(RedirectedFile).check(Schema.isMaxLength(64)))
})
export type ShellRule = typeof ShellRule.Type

/** Rule for written files, relative to the workspace. `*`, `**` and `?` are patterns in a configuration. Without `tool`: any tool. */
export const WriteRule = Schema.Struct({
  action: Schema.Literal("write"),
  files: Schema.Array(path).check(Schema.isMinLength(1), Schema.isMaxLength(256)),
  ...tool
})
export type WriteRule = typeof WriteRule.Type

/** Rule for a host, with its port unless it is the default port of the scheme: `example.com`, `127.0.0.1:8080`. */
export const NetworkRule = Schema.Struct({
  action: Schema.Literal("network"),
  host: Schema.String.check(Schema.isPattern(/^[a-z0-9.[\]:_-]{1,255}$/u)),
  ...tool
})
export type NetworkRule = typeof NetworkRule.Type

/** Rule for a tool without a command, file or address. It covers exactly this input, as JSON text. */
export const ToolRule = Schema.Struct({ action: Schema.Literal("tool"), tool: toolName, input: text })
export type ToolRule = typeof ToolRule.Type

/** What a grant covers. */
export const GrantRule = Schema.Union([ShellRule, WriteRule, NetworkRule, ToolRule])
export type GrantRule = typeof GrantRule.Type

/** A remembered decision. `session`: for later runs of the session. `always`: for all runs of the agent in the workspace. */
export const Grant = Schema.Struct({
  id: GrantId,
  workspace: WorkspaceId,
  scope: Schema.Literals(["session", "always"]),
  sessionId: Schema.optionalKey(SessionId),
  agentId: AgentId,
  rule: GrantRule,
  createdAt: Schema.String,
  /** The user who allowed the action, or `local` for the owner of the Edge's token. */
  by: Schema.String,
  /** The approval that created the grant. */
  approvalId: Schema.optionalKey(ApprovalId)
}).annotate({ identifier: "Grant" })
export type Grant = typeof Grant.Type
