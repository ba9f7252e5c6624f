/**
 * A grant: an action that is allowed in advance and needs no approval. A user's grant covers exactly the action that the user saw. Only a grant
 * from the Edge's configuration covers more, by `prefix` or by a pattern of files.
 *
 * Owns the shapes. What a rule covers is the Edge's `GrantRules`.
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

/** One simple command: assignments before it, program, arguments, each as the program gets it. */
export const ShellRule = Schema.Struct({
  action: Schema.Literal("shell"),
  command: Schema.Array(text).check(Schema.isMinLength(1), Schema.isMaxLength(1_024)),
  /** The folder it runs in, relative to the workspace; its root where absent. */
  cwd: Schema.optionalKey(path),
  /** Whether more arguments may follow: words that are not options, and that name nothing outside of the workspace. */
  prefix: Schema.optionalKey(Schema.Boolean),
  /** With `prefix`: words that may follow too, each exactly as written, such as options. */
  options: Schema.optionalKey(Schema.Array(text.check(Schema.isMinLength(1))).check(Schema.isMaxLength(256))),
  /** With `prefix`: whether it may be fed a pipe, a here-document or a file of the workspace. */
  stdin: Schema.optionalKey(Schema.Literal(true)),
  /** What it is fed: the commands before it in its pipe, a here-document, a file. */
  input: Schema.optionalKey(text),
  writes: Schema.optionalKey(Schema.Array(RedirectedFile).check(Schema.isMaxLength(64)))
})
export type ShellRule = typeof ShellRule.Type

/** Files, relative to the workspace. In a configuration `*`, `**` and `?` stand for parts of a path; absent `tool` means any. */
export const WriteRule = Schema.Struct({
  action: Schema.Literal("write"),
  files: Schema.Array(path).check(Schema.isMinLength(1), Schema.isMaxLength(256)),
  ...tool
})
export type WriteRule = typeof WriteRule.Type

/** A host, with its port where that is not the scheme's own: `example.com`, `127.0.0.1:8080`. */
export const NetworkRule = Schema.Struct({
  action: Schema.Literal("network"),
  host: Schema.String.check(Schema.isPattern(/^[a-z0-9.[\]:_-]{1,255}$/u)),
  ...tool
})
export type NetworkRule = typeof NetworkRule.Type

/** A tool that names no command, file or address: exactly this input, as JSON. */
export const ToolRule = Schema.Struct({ action: Schema.Literal("tool"), tool: toolName, input: text })
export type ToolRule = typeof ToolRule.Type

export const GrantRule = Schema.Union([ShellRule, WriteRule, NetworkRule, ToolRule])
export type GrantRule = typeof GrantRule.Type

/** A remembered decision. `session`: for later runs of that session; `always`: for all runs of its agent in the workspace. */
export const Grant = Schema.Struct({
  id: GrantId,
  workspace: WorkspaceId,
  scope: Schema.Literals(["session", "always"]),
  sessionId: Schema.optionalKey(SessionId),
  agentId: AgentId,
  rule: GrantRule,
  createdAt: Schema.String,
  /** Who allowed it. */
  by: Schema.String,
  /** The approval in which it was allowed. */
  approvalId: Schema.optionalKey(ApprovalId)
}).annotate({ identifier: "Grant" })
export type Grant = typeof Grant.Type
