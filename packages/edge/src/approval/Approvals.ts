/** Rows of approvals: one per requested action, with its outcome. */
import type { Approval } from "@corral/domain/approval/Approval"
import { edgeRequestRows } from "../store/EdgeRequestRows.ts"

export const {
  put: putApproval,
  replace: replaceApproval,
  find: findApproval,
  page: pageOfApprovals
} = edgeRequestRows<Approval>("approvals", "approval")
