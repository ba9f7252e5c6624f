/** Runs of a benchmark, as an Edge would push them. */
import {
  type AgentId,
  type DeviceId,
  type ProjectId,
  type RunId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import { RunLog } from "@corral/hub/run/RunLog"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { benchLineOf } from "./EventLine.ts"

export interface BenchRun {
  readonly runId: RunId
  readonly targetId: DeviceId
}

/** A run that is known, with its first event. */
export const createRunOf = Effect.fnUntraced(function* (
  projectId: ProjectId,
  targetId = mint<DeviceId>("dev", Date.now())
) {
  const log = yield* RunLog
  const now = Date.now()
  const run: BenchRun = { runId: mint<RunId>("run", now), targetId }
  const create = {
    workspace: "bench" as WorkspaceId,
    agentId: "scripted" as AgentId,
    input: { text: "/say hello" },
    mode: "ask" as const
  }
  yield* log.open({ id: run.runId, projectId, targetId: run.targetId, create })
  const { workspace, mode, input } = create
  yield* log.append(run.targetId, [
    {
      runId: run.runId,
      firstSeq: 1,
      events: [benchLineOf(run.runId, 1, "run.created", { workspace, mode, input })]
    }
  ])
  return run
})
