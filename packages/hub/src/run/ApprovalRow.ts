/** Codec of the table `approvals`. */
import { Approval } from "@corral/domain/approval/Approval"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { DeviceId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import { Schema, Struct } from "effect"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const StoredApprovalRow = Schema.Struct({
  project_id: ProjectId,
  target_id: DeviceId,
  run_id: RunId,
  approval: jsonColumn(Approval)
})

const ApprovalRow = StoredApprovalRow.mapFields(Struct.omit(["run_id"]))

/** With the `id` by which lists are ordered. */
export const APPROVAL_COLUMNS = "id, project_id, target_id, approval"

export const approvalRows = storedRows("approvals", ApprovalRow)
export const approvalDocumentRows = storedRows(
  "approvals",
  StoredApprovalRow.mapFields(Struct.pick(["approval", "run_id"]))
)

export const hubApprovalOf = ({ approval, project_id, target_id }: typeof ApprovalRow.Type): HubApproval => ({
  ...approval,
  projectId: project_id,
  targetId: target_id
})
