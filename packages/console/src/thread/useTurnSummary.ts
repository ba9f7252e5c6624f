/**
 * Summary of an ended run, from the end of its log: the changed files, and for a short run the number of its actions.
 *
 * Does not: read the whole log of a long run. A run whose log is no longer kept has no summary.
 */
import { decodeEventFields } from "@corral/client/run/EventFields"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { EventSequence } from "@corral/domain/run/EventSequence"
import type { DiffBlock } from "@corral/domain/run/RunBlock"
import { RunView } from "@corral/domain/run/RunView"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { WorkFold } from "./WorkFold.ts"
import { countsOf, type WorkCounts } from "./WorkRow.ts"

/** Events at the end of the log that are read. */
const EVENTS = 200

export interface TurnSummary {
  readonly diff: DiffBlock | undefined
  /** Absent for a run with more events. */
  readonly counts: WorkCounts | undefined
}

const readSummary = async (id: HubRun["id"], lastSeq: number, signal: AbortSignal): Promise<TurnSummary> => {
  const after = Math.max(0, lastSeq - EVENTS)
  const { items } = await hubApi.runs.events({ params: { id }, query: { after, limit: EVENTS }, signal })
  const [sequence, view] = [new EventSequence(decodeEventFields, after), new RunView()]
  for (const event of items) {
    const next = sequence.nextOf(event)
    if (next !== undefined) view.apply(next)
  }
  return {
    diff: view.blocks.findLast((block) => block.kind === "diff"),
    counts: after === 0 ? countsOf(new WorkFold().update(view.blocks)) : undefined
  }
}

/** `run` is undefined until it has ended and its turn was seen. */
export const useTurnSummary = (run: HubRun | undefined): TurnSummary | undefined =>
  useQuery({
    queryKey: ["run-summaries", run?.id],
    queryFn: ({ signal }) =>
      run === undefined ? Promise.reject(new Error("no run")) : readSummary(run.id, run.lastSeq, signal),
    enabled: run !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false
  }).data
