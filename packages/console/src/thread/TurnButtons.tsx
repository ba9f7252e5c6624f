/** Buttons of the header that pause or resume the turn in progress, and stop it. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

/** Stops runs. What they have done is kept. */
export const useStop = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (ids: ReadonlyArray<HubRun["id"]>) =>
      Promise.all(ids.map((id) => hubApi.runs.cancel({ params: { id } }))),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
}

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

/** Control of runs in progress: stop, pause and resume, with their state. `runs`: those that are loaded. */
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

interface StopProps {
  readonly isBusy: boolean
  readonly onStop: () => void
}

/** Stops the turn in progress. */
const StopButton = ({ isBusy, onStop }: StopProps) => {
  const messages = useMessages(threadMessages)
  return (
    <button type="button" className="button small stop-button" disabled={isBusy} onClick={onStop}>
      <Icon name="stop" size={14} />
      <span className="stop-word">{messages.stop}</span>
    </button>
  )
}

const PauseButton = ({ isChangingPause, isPaused, onPause }: TurnControl) => {
  const messages = useMessages(threadMessages)
  return (
    <button
      type="button"
      className="button small pause-button"
      title={isPaused ? messages.resumeHint : messages.pauseHint}
      disabled={isChangingPause}
      onClick={onPause}
    >
      <Icon name={isPaused ? "resume" : "pause"} size={14} />
      <span className="pause-word">{isPaused ? messages.resume : messages.pause}</span>
    </button>
  )
}

export const TurnButtons = ({ control }: { readonly control: TurnControl }) => (
  <>
    <PauseButton {...control} />
    <StopButton isBusy={control.isStopping} onStop={control.onStop} />
  </>
)
