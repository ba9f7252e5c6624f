/** Control of runs in progress: stop, pause and resume, with their state. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useStop } from "./useStop.ts"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

/** Pauses and resumes runs. */
interface PauseChange {
  readonly ids: ReadonlyArray<HubRun["id"]>
  readonly change: "pause" | "resume"
}

const usePause = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ change, ids }: PauseChange) =>
      Promise.all(ids.map((id) => hubApi.runs[change]({ params: { id } }))),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
}

export interface TurnControl {
  readonly isPaused: boolean
  readonly isStopping: boolean
  readonly isChangingPause: boolean
  readonly error: Error | null
  readonly onStop: () => void
  /** Pauses the runs, or resumes them if they are paused. */
  readonly onPause: () => void
}

/** `runs`: those that are loaded. */
export const useTurnControl = (
  ids: ReadonlyArray<HubRun["id"]>,
  runs: ReadonlyMap<HubRun["id"], HubRun>
): TurnControl => {
  const stop = useStop()
  const pause = usePause()
  const isPaused = ids.length > 0 && ids.every((id) => runs.get(id)?.paused === true)
  return {
    isPaused,
    isStopping: stop.isPending,
    isChangingPause: pause.isPending,
    error: stop.error ?? pause.error,
    onStop: () => stop.mutate(ids),
    onPause: () => pause.mutate({ ids, change: isPaused ? "resume" : "pause" })
  }
}
