/** A task with its run, on its way to its target. */
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import type { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import type { CreateRun } from "@corral/domain/run/Run"
import type { OnOffline } from "@corral/domain/task/Task"
import type { TaskRow } from "./TaskRow.ts"

export interface ClaimedTask {
  readonly id: TaskId
  readonly runId: RunId
  readonly create: CreateRun
  readonly attachments: CommandAttachments | undefined
  readonly onOffline: OnOffline
  /** Trace of the request that created the task. */
  readonly traceparent: string | undefined
}

/** `runId`: the run that the row has, or receives. */
export const claimedTaskOf = (
  { attachments, id, on_offline: onOffline, request: create, traceparent }: TaskRow,
  runId: RunId
): ClaimedTask => ({
  id,
  runId,
  create,
  attachments: attachments ?? undefined,
  onOffline,
  traceparent: traceparent ?? undefined
})
