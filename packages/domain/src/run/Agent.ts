/**
 * Agents and runners that an Edge offers, with their readiness.
 */
import { Schema } from "effect"
import { CountedLimit } from "./Budget.ts"
import { AgentId } from "../identity/Ids.ts"
import { RunMode } from "./Run.ts"

/** Features of a runtime. Schema of `Capabilities` in `RuntimeAdapter`. */
export const AgentCapabilities = Schema.Struct({
  deltas: Schema.Boolean,
  approvals: Schema.Boolean,
  editInput: Schema.Boolean,
  resume: Schema.Boolean,
  readOnly: Schema.Boolean,
  cancel: Schema.Boolean,
  input: Schema.Boolean
})

/** An adapter, or a profile of one. `reason` says why the agent is not available, `hint` what to do. */
export const Agent = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  /** Id of its adapter: equal to `id` unless this is a profile. */
  runtime: Schema.String,
  version: Schema.optionalKey(Schema.String),
  /** Whether the program is installed. */
  available: Schema.Boolean,
  /** Absent if the runtime does not report it before a run. */
  signedIn: Schema.optionalKey(Schema.Boolean),
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String),
  /** Supported modes. The workspace must allow the mode too. */
  modes: Schema.optionalKey(Schema.Array(RunMode)),
  /** Model of runs that do not name one. */
  model: Schema.optionalKey(Schema.String),
  /** Limits of a budget that its runs can have besides `wallMs`. Absent in the offers of earlier versions. */
  counts: Schema.optionalKey(Schema.Array(CountedLimit)),
  capabilities: AgentCapabilities
}).annotate({ identifier: "Agent" })
export type Agent = typeof Agent.Type

/**
 * A configured command line that runs through a generic adapter, for programs without their own adapter. Runs name it by `agentId`.
 * `reason` says why the runner is not available, `hint` what to do.
 */
export const Runner = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  runtime: Schema.String,
  /** Program and arguments, with `{prompt}` for the prompt. Contains no secrets. */
  command: Schema.Array(Schema.String),
  available: Schema.Boolean,
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String),
  /** Limits of a budget that its runs can have besides `wallMs`. Absent in the answers of earlier versions. */
  counts: Schema.optionalKey(Schema.Array(CountedLimit)),
  /** Supported modes. The workspace must allow the mode too. */
  modes: Schema.optionalKey(Schema.Array(RunMode))
}).annotate({ identifier: "Runner" })
export type Runner = typeof Runner.Type
