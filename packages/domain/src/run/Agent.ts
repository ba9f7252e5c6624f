/**
 * Agents as an Edge offers them: real runtime adapters with their readiness, and runner presets over them.
 */
import { Schema } from "effect"
import { AgentId } from "../identity/Ids.ts"
import { RunMode } from "./Run.ts"

/** What a runtime can do; the schema of `RuntimeAdapter`'s `Capabilities`. */
export const AgentCapabilities = Schema.Struct({
  deltas: Schema.Boolean,
  approvals: Schema.Boolean,
  editInput: Schema.Boolean,
  resume: Schema.Boolean,
  readOnly: Schema.Boolean,
  cancel: Schema.Boolean,
  input: Schema.Boolean
})

/** An adapter or a profile over one. `reason` and `hint` tell a person why it is not available and what to do. */
export const Agent = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  /** The adapter that runs it: equal to `id` unless this is a profile. */
  runtime: Schema.String,
  version: Schema.optionalKey(Schema.String),
  /** Its program is installed. */
  available: Schema.Boolean,
  /** Absent if it is not known before a run. */
  signedIn: Schema.optionalKey(Schema.Boolean),
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String),
  /** Modes that it may run in, where the workspace allows them too. */
  modes: Schema.optionalKey(Schema.Array(RunMode)),
  /** Of a run that names none. */
  model: Schema.optionalKey(Schema.String),
  capabilities: AgentCapabilities
}).annotate({ identifier: "Agent" })
export type Agent = typeof Agent.Type

/**
 * A named command line over a generic adapter, for tools that have no adapter of their own. A run starts it by its id, as an agent.
 * `reason` and `hint` tell a person why it is not available and what to do.
 */
export const Runner = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  runtime: Schema.String,
  /** Program and arguments, `{prompt}` where the prompt goes; no secrets. */
  command: Schema.Array(Schema.String),
  available: Schema.Boolean,
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String),
  /** Modes that it may run in, where the workspace allows them too. */
  modes: Schema.optionalKey(Schema.Array(RunMode))
}).annotate({ identifier: "Runner" })
export type Runner = typeof Runner.Type
