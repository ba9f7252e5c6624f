/**
 * Runs and approvals as a Hub mirrors them: the Edge's own, and where they belong.
 */
import { Schema } from "effect"
import { Approval, DecideApproval } from "../approval/Approval.ts"
import { DeviceId, ProjectId, TaskId } from "../identity/Ids.ts"
import { Run, RunStatus } from "../run/Run.ts"
import { storable } from "../text/Text.ts"

/** `queued` comes before an Edge has the run. */
export const HubRunStatus = Schema.Literals(["queued", ...RunStatus.literals])
export type HubRunStatus = typeof HubRunStatus.Type

const belonging = { projectId: ProjectId, targetId: DeviceId }

export const HubRun = Schema.Struct({
  ...Run.fields,
  ...belonging,
  taskId: Schema.optionalKey(TaskId),
  state: HubRunStatus
}).annotate({ identifier: "HubRun" })
export type HubRun = typeof HubRun.Type

export const HubApproval = Schema.Struct({ ...Approval.fields, ...belonging }).annotate({
  identifier: "HubApproval"
})
export type HubApproval = typeof HubApproval.Type

const { decision, scope, updatedInput } = DecideApproval.fields

/** POST /client/approvals/{id}/decide: the path names the approval. */
export const DecideHubApproval = Schema.Struct({
  decision,
  scope,
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096), storable)),
  updatedInput
}).annotate({
  identifier: "DecideHubApproval"
})
export type DecideHubApproval = typeof DecideHubApproval.Type
