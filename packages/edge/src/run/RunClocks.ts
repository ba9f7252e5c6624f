/**
 * Clocks of a run after a batch. The time of a pending approval or question counts neither as silence nor towards a limit of the run or of its
 * background work. While the runtime is idle, only its background work is limited. A pause stops all but the cap.
 */
import { isSettling } from "@corral/domain/run/RunMachine"
import { Effect, type Scope } from "effect"
import type { IdleState } from "./IdleClocks.ts"
import type { RunSession } from "./RunSession.ts"

/** What the clocks follow. */
export interface ClockState extends IdleState {
  /** Whether the runtime should produce output, so that its timeout and its silence count. */
  readonly isActive: boolean
  readonly isPaused: boolean
  /** Bytes of output that are applied, while the limit of the background work comes closer. */
  readonly applied: number | undefined
}

const stateOf = ({ options: { recorder } }: RunSession, applied: number): ClockState => {
  const { state } = recorder
  const isPaused = state.paused === true
  const isIdle = state.isIdle && state.verdict === undefined
  const isWaiting = isPaused || state.pending.length > 0 || state.pendingInputs.size > 0
  return {
    isPaused,
    isActive: !isWaiting && !isIdle,
    idleTurn: isIdle ? state.turn : undefined,
    isBackground: isIdle && !isWaiting,
    applied: isIdle && !isWaiting ? applied : undefined,
    isSettling: !isPaused && isSettling(state)
  }
}

const isSame = (a: ClockState, b: ClockState): boolean =>
  a.isPaused === b.isPaused &&
  a.isActive === b.isActive &&
  a.idleTurn === b.idleTurn &&
  a.isBackground === b.isBackground &&
  a.applied === b.applied &&
  a.isSettling === b.isSettling

/** Whether no clock starts or stops, as after most batches. Notes whether a tool runs. */
export const clocksContinue = (session: RunSession): boolean => {
  const { clocks, options, process } = session
  if (process === undefined) return true
  process.silence.work(options.recorder.state.openCalls.size > 0)
  return clocks !== undefined && isSame(clocks, stateOf(session, session.position.bytes))
}

/** `applied`: bytes of output that led to the state. */
export const adjustClocks = (
  session: RunSession,
  applied: number
): Effect.Effect<void, never, Scope.Scope> => {
  const { options, process } = session
  if (clocksContinue(session) || process === undefined) return Effect.void
  const clocks = stateOf(session, applied)
  session.clocks = clocks
  const { isActive, isPaused } = clocks
  options.hold?.pause(isPaused)
  process.silence.stand(!isActive)
  return process
    .activeClock(isActive)
    .pipe(
      Effect.andThen(process.wallClock?.(!isPaused) ?? Effect.void),
      Effect.andThen(process.idleClocks.follow(clocks)),
      Effect.andThen(Effect.sync(() => options.hold?.limitBackground(process.idleClocks.endsAt, applied)))
    )
}
