/**
 * Runs: executions of a runtime in a workspace, as clients see them. `Run` is a snapshot; the event log has the history.
 */
import { Schema } from "effect"
import { Budget, RequestedBudget, RunDuration } from "./Budget.ts"
import { Checks } from "./Check.ts"
import { RunConfinement } from "./Confinement.ts"
import { ProtectedChanges } from "./ProtectedChange.ts"
import {
  AgentId,
  ApprovalId,
  InputRequestId,
  RunId,
  SessionId,
  TaskGroupId,
  WorkspaceId
} from "../identity/Ids.ts"
import { RunMode } from "../approval/RunMode.ts"
import { UnknownChanges } from "../changes/UnknownChanges.ts"

export { RunMode } from "../approval/RunMode.ts"

/** State of a run at an Edge. A Hub adds `queued`: no Edge has the run yet. */
export const RunStatus = Schema.Literals([
  "created",
  "starting",
  "running",
  "waiting_approval",
  "waiting_input",
  "completed",
  "failed",
  "cancelled"
])
export type RunStatus = typeof RunStatus.Type

/** `program`: the runtime reports the cost. `estimated`: the Edge has computed it, at least in part, from tokens and a table of prices. */
export const CostSource = Schema.Literals(["program", "estimated"])
export type CostSource = typeof CostSource.Type

/**
 * Token counts and cost of a run, with those of its sub-agents. `inputTokens` includes `cachedInputTokens`, and `outputTokens` includes
 * `reasoningTokens`. `costUsd` is absent if the cost is unknown: a model without a price, or a subscription. `costSource` is absent in reports
 * of earlier versions: there the runtime reported the cost.
 */
export const Usage = Schema.Struct({
  inputTokens: Schema.optionalKey(Schema.Int),
  outputTokens: Schema.optionalKey(Schema.Int),
  cachedInputTokens: Schema.optionalKey(Schema.Int),
  reasoningTokens: Schema.optionalKey(Schema.Int),
  turns: Schema.optionalKey(Schema.Int),
  costUsd: Schema.optionalKey(Schema.Finite),
  costSource: Schema.optionalKey(CostSource)
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type

/** Reason of a failed run: a code of the error table, a message, and details that the caller may see. */
export const RunFailure = Schema.Struct({
  code: Schema.String.annotate({
    description:
      "A code of the error table: `run_timeout`, `budget_exceeded`, `runtime_unavailable`, `permission_denied`, `approval_rejected` (the runtime gave up after an action was denied or its approval expired), `work_unfinished` (background work was cut), `internal`."
  }),
  message: Schema.String,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}).annotate({ identifier: "RunFailure" })
export type RunFailure = typeof RunFailure.Type

/** Largest prompt, in bytes of UTF-8. */
export const MAX_PROMPT_BYTES = 262_144

const isPromptSized = Schema.makeFilter(
  (text: string) => new TextEncoder().encode(text).length <= MAX_PROMPT_BYTES,
  { expected: "at most 256 KiB of text" }
)

/** A prompt: at most 256 KiB of text as UTF-8. */
export const RunInput = Schema.Struct({
  text: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(MAX_PROMPT_BYTES), isPromptSized)
})
export type RunInput = typeof RunInput.Type

/**
 * Where a run writes: into the workspace, into its own checkout next to it, or into a layer over the workspace. A run that resumes another run
 * writes where that run did.
 */
export const Isolation = Schema.Literals(["none", "worktree", "overlay"])
export type Isolation = typeof Isolation.Type

/** How a layer is made. `reflink`: a copy that shares blocks with the workspace. */
export const LayerMeans = Schema.Literals(["overlayfs", "reflink", "copy"])
export type LayerMeans = typeof LayerMeans.Type

/** Layer of a run: what it writes stays there until a person accepts it. */
export const RunLayer = Schema.Struct({
  /** The run that owns the layer: this run, or the first one of the conversation. */
  owner: RunId,
  means: LayerMeans,
  /** Whether the operating system hides the workspace's folder from the run. */
  enforced: Schema.Boolean
}).annotate({ identifier: "RunLayer" })
export type RunLayer = typeof RunLayer.Type

/** Body of POST /v1/runs: the four fields of the contract, and optional ones. */
export const CreateRun = Schema.Struct({
  workspace: WorkspaceId,
  agentId: AgentId,
  input: RunInput,
  mode: RunMode,
  /** Active time in milliseconds, without pauses and the time that approvals are pending. 1 s to 24 h. */
  timeoutMs: Schema.optionalKey(RunDuration),
  /** Longest time in milliseconds that work may continue in the background after a turn. 1 s to 24 h. Default: the Edge's setting. */
  backgroundMs: Schema.optionalKey(RunDuration),
  /** Milliseconds until a question of the run expires. 1 s to 24 h. Default: it does not expire. */
  inputTtlMs: Schema.optionalKey(RunDuration),
  sessionId: Schema.optionalKey(SessionId),
  /** An earlier run whose conversation continues. */
  resume: Schema.optionalKey(RunId),
  model: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:/@[\]-]{0,127}$/u))
  ),
  isolation: Schema.optionalKey(Isolation),
  /**
   * The group of the run: its runs begin with the same files, those of the workspace when the first of them started. Only with `worktree` or
   * `overlay`, and not with `resume`.
   */
  groupId: Schema.optionalKey(TaskGroupId),
  /** Commands that the Edge executes after each turn that ends the run, in what the run changed. Only with `worktree` or `overlay`. */
  checks: Schema.optionalKey(Checks),
  budget: Schema.optionalKey(RequestedBudget),
  /** Additional environment variables. The Edge accepts only names that its policy lists. */
  env: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
}).annotate({ identifier: "CreateRun" })
export type CreateRun = typeof CreateRun.Type

/** Work that continues in the background: how many, and the titles of the first ones. */
export const Outstanding = Schema.Struct({
  count: Schema.Int,
  titles: Schema.Array(Schema.String),
  /** Whether all of it is commands, such as a development server. */
  onlyCommands: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "Outstanding" })
export type Outstanding = typeof Outstanding.Type

/** Response of GET /v1/runs/{id}. A reader that continues with `after=lastSeq` misses no event. Times are ISO 8601. */
export const Run = Schema.Struct({
  id: RunId,
  workspace: WorkspaceId,
  agentId: AgentId,
  sessionId: Schema.optionalKey(SessionId),
  mode: RunMode,
  state: RunStatus,
  /** Present while all processes of the run are frozen. `state` is the one before. */
  paused: Schema.optionalKey(Schema.Literal(true)),
  input: RunInput,
  model: Schema.optionalKey(Schema.String),
  /** Conversation id of the runtime, if it has one. */
  runtimeSessionId: Schema.optionalKey(Schema.String),
  resume: Schema.optionalKey(RunId),
  /** The run could not continue its conversation, and its message began again in that run. Lists leave the run out. */
  replacedBy: Schema.optionalKey(RunId),
  timeoutMs: Schema.Int,
  backgroundMs: Schema.optionalKey(Schema.Int),
  inputTtlMs: Schema.optionalKey(Schema.Int),
  isolation: Schema.optionalKey(Isolation),
  /** The group that the run began in. */
  groupId: Schema.optionalKey(TaskGroupId),
  /** The run that owns the worktree: this run, or the run that it resumes. */
  worktree: Schema.optionalKey(RunId),
  /** Present if the run works in a layer. */
  layer: Schema.optionalKey(RunLayer),
  /** Limits of the operating system. Absent if the Edge does not confine runs, and for runs of earlier versions. */
  confinement: Schema.optionalKey(RunConfinement),
  /** The run ends with its Edge although runs outlive it: the holder of runs could not be reached. */
  endsWithEdge: Schema.optionalKey(Schema.Literal(true)),
  budget: Schema.optionalKey(Budget),
  lastSeq: Schema.Int,
  pendingApprovals: Schema.Array(ApprovalId),
  /** Questions and plans that wait for a person. Absent in runs of earlier versions. */
  pendingInputs: Schema.optionalKey(Schema.Array(InputRequestId)),
  /** `idle`: the runtime has ended its turn, and the run continues. Absent before the start and after the end. */
  turn: Schema.optionalKey(Schema.Literals(["active", "idle"])),
  /** Work in the background. Absent if there is none. */
  outstanding: Schema.optionalKey(Outstanding),
  usage: Schema.optionalKey(Usage),
  /** Final text of a completed run, truncated to 64 KiB. */
  resultText: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(RunFailure),
  /** Changes of protected names that no approval names, so far. Absent if there are none, and for runs that are not confined. */
  protectedChanges: Schema.optionalKey(ProtectedChanges),
  /** Why the changes of the run are unknown. Absent if they are known. */
  changesUnknown: Schema.optionalKey(UnknownChanges),
  createdAt: Schema.String,
  updatedAt: Schema.String,
  endedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Run" })
export type Run = typeof Run.Type
