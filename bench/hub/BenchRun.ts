/** Runs of a benchmark, as an Edge would push them. */
import {
  type AgentId,
  type DeviceId,
  eventIds,
  type ProjectId,
  type RunId,
  type WorkspaceId
} from "@corral/domain/Ids"
import { RunLog } from "@corral/hub/run/RunLog"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"

export interface BenchRun {
  readonly runId: RunId
  readonly targetId: DeviceId
}

/** A run that is known, with its first event. */
export const createRunOf = Effect.fnUntraced(function* (projectId: ProjectId) {
  const log = yield* RunLog
  const now = Date.now()
  const run: BenchRun = { runId: mint<RunId>("run", now), targetId: mint<DeviceId>("dev", now) }
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
      events: [lineOf(run.runId, 1, "run.created", { workspace, mode, input })]
    }
  ])
  return run
})

/** The text of an event. */
export const lineOf = (runId: RunId, seq: number, type: string, payload: object): string =>
  JSON.stringify({
    id: eventIds(runId)(seq),
    seq,
    type,
    runId,
    agentId: "scripted",
    createdAt: new Date(1_790_000_000_000 + seq).toISOString(),
    payload: { v: 1, ...payload }
  })
