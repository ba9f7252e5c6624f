/** Clocks of a run after a batch. The time of a pending approval counts neither as silence nor towards the run's timeout. A pause stops all but the cap. */
import { Effect, type Scope } from "effect"
import type { RunSession } from "./RunSession.ts"

/** What the clocks follow. */
export interface ClockState {
  readonly isWaiting: boolean
  readonly isPaused: boolean
}

const stateOf = ({ options: { recorder } }: RunSession): ClockState => {
  const { paused, pending } = recorder.state
  const isPaused = paused === true
  return { isPaused, isWaiting: pending.length > 0 || isPaused }
}

/** Whether no clock starts or stops, as after most batches. Notes whether a tool runs. */
export const clocksContinue = (session: RunSession): boolean => {
  const { clocks, options, process } = session
  if (process === undefined) return true
  process.silence.work(options.recorder.state.openCalls.size > 0)
  const { isPaused, isWaiting } = stateOf(session)
  return clocks !== undefined && clocks.isPaused === isPaused && clocks.isWaiting === isWaiting
}

export const adjustClocks = (session: RunSession): Effect.Effect<void, never, Scope.Scope> => {
  const { options, process } = session
  if (clocksContinue(session) || process === undefined) return Effect.void
  session.clocks = stateOf(session)
  const { isPaused, isWaiting } = session.clocks
  options.hold?.pause(isPaused)
  process.silence.stand(isWaiting)
  const active = process.activeClock(!isWaiting)
  return process.wallClock === undefined ? active : Effect.andThen(active, process.wallClock(!isPaused))
}
