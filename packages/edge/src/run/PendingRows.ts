/** Rows of a run that wait for people, as a recorder needs them to continue. */
import type { Approval } from "@corral/domain/approval/Approval"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { Run } from "@corral/domain/run/Run"
import { pageOfApprovals } from "../approval/Approvals.ts"
import { pageOfInputs } from "../input/Inputs.ts"
import type { Store } from "../store/Store.ts"

export interface PendingRows {
  readonly approvals: ReadonlyArray<Approval>
  readonly inputs: ReadonlyArray<InputRequest>
}

export const pendingRows = (store: Store["Service"], { id }: Run): PendingRows => {
  const page = { runId: id, state: "pending", limit: 100_000 } as const
  return { approvals: pageOfApprovals(store, page), inputs: pageOfInputs(store, page) }
}
