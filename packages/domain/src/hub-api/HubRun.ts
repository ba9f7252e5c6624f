/**
 * Runs, approvals, questions and change sets as the Hub mirrors them: those of the Edge, with their project and target.
 */
import { Schema, Struct } from "effect"
import { Approval, DecideApproval } from "../approval/Approval.ts"
import { ChangeSet, ChangeSetState } from "../edge-api/ChangeSet.ts"
import { InputRequest } from "../input/InputRequest.ts"
import { ChangeSetId, DeviceId, ProjectId, RunId, TaskId } from "../identity/Ids.ts"
import { Run, RunStatus } from "../run/Run.ts"
import { isStorableText } from "../text/Text.ts"

/** State of a run at the Hub. `queued`: no Edge has the run yet. */
export const HubRunStatus = Schema.Literals(["queued", ...RunStatus.literals])
export type HubRunStatus = typeof HubRunStatus.Type

const placement = { projectId: ProjectId, targetId: DeviceId }

/** A change set with the project and target of its runs, as the Edge last reported it. */
export const HubChangeSet = Schema.Struct({ ...ChangeSet.fields, ...placement }).annotate({
  identifier: "HubChangeSet"
})
export type HubChangeSet = typeof HubChangeSet.Type

/** A change set as the Edge last reported it, without its decisions and lists. */
export const ChangeSetSummary = ChangeSet.mapFields(
  Struct.omit(["decisions", "commits", "ignored", "incomplete"])
).annotate({ identifier: "ChangeSetSummary" })
export type ChangeSetSummary = typeof ChangeSetSummary.Type

/**
 * The change set that a run worked in, without its content. `runId`: its newest run at the last report of the Edge, which follows the end of each run.
 * `fileCount` counts undecided files.
 */
export const ChangesOfRun = Schema.Struct({
  id: ChangeSetId,
  runId: RunId,
  state: ChangeSetState,
  fileCount: Schema.Int,
  /** Whether the files were written directly: there is nothing to accept. */
  direct: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "ChangesOfRun" })
export type ChangesOfRun = typeof ChangesOfRun.Type

/** A run with its project, target and task. */
export const HubRun = Schema.Struct({
  ...Run.fields,
  ...placement,
  taskId: Schema.optionalKey(TaskId),
  /** Another run receives its message. Before that run has started, there is no `replacedBy`. */
  replaced: Schema.optionalKey(Schema.Literal(true)),
  /** Absent if the Edge has reported none. */
  changes: Schema.optionalKey(ChangesOfRun),
  state: HubRunStatus
}).annotate({ identifier: "HubRun" })
export type HubRun = typeof HubRun.Type

/** An approval with the project and target of its run. */
export const HubApproval = Schema.Struct({ ...Approval.fields, ...placement }).annotate({
  identifier: "HubApproval"
})
export type HubApproval = typeof HubApproval.Type

/** A question, form or plan with the project and target of its run. */
export const HubInput = Schema.Struct({ ...InputRequest.fields, ...placement }).annotate({
  identifier: "HubInput"
})
export type HubInput = typeof HubInput.Type

const { decision, scope, updatedInput } = DecideApproval.fields

/** Body of POST /client/approvals/{id}/decide. */
export const DecideHubApproval = Schema.Struct({
  decision,
  scope,
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096), isStorableText)),
  updatedInput
}).annotate({
  identifier: "DecideHubApproval"
})
export type DecideHubApproval = typeof DecideHubApproval.Type
