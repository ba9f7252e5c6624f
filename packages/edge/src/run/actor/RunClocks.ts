/**
 * Clocks of a run after a turn. The time of a pending approval or question counts neither as silence nor towards a limit of the run or of its
 * background work. While the runtime is idle, only its background work is limited. A pause stops all but the cap.
 */
import { isSettling } from "@corral/domain/run/RunMachine"
import { Effect, type Scope } from "effect"
import type { AdoptedRun, HeldClocks, RunSession } from "./RunSession.ts"
import type { IdleState } from "./Clocks.ts"
import type { RunProcess } from "./RunProcess.ts"

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
  const isWaiting = isPaused || state.pending.size > 0 || state.pendingInputs.size > 0
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

/** Whether no clock starts or stops, as after most turns. Notes whether a tool runs. */
export const clocksContinue = (session: RunSession): boolean => {
  const { clocks, options, process } = session
  if (process === undefined) return true
  process.silence.work(options.recorder.state.openCalls.size > 0)
  return clocks !== undefined && isSame(clocks, stateOf(session, session.kernel.position.bytes))
}

/** `applied`: bytes of output that led to the state. */
export const adjustClocks = (
  session: RunSession,
  applied: number
): Effect.Effect<void, never, Scope.Scope> => {
  const { process } = session
  if (clocksContinue(session) || process === undefined) return Effect.void
  const clocks = stateOf(session, applied)
  session.clocks = clocks
  const { isActive, isPaused } = clocks
  process.silence.stand(!isActive)
  return process
    .activeClock(isActive)
    .pipe(
      Effect.andThen(process.wallClock?.(!isPaused) ?? Effect.void),
      Effect.andThen(process.idleClocks.follow(clocks))
    )
}

/** A run that is ending keeps its times at the holder: its outcome need not be stored. */
const isEnding = ({ options }: RunSession): boolean => options.recorder.state.verdict !== undefined

const heldClocks = (
  session: RunSession,
  { idleClocks }: Pick<RunProcess, "idleClocks">,
  applied: number
): HeldClocks => {
  const clocks = stateOf(session, applied)
  const at = idleClocks.endFor(clocks)
  return { isPaused: clocks.isPaused, background: at === undefined ? undefined : { at, applied } }
}

/**
 * The holder's clocks before the events of a turn are stored, so that an Edge that dies between the two leaves no run without its limit: a clock
 * that starts does so now, and one that stops has its whole time again.
 */
export const prepareHolder = (session: RunSession, applied: number): void => {
  const { clocks: before, options, process } = session
  if (options.hold === undefined || process === undefined || isEnding(session)) return
  const { background, isPaused } = heldClocks(session, process, applied)
  const { endsAt, nextEnd } = process.idleClocks
  const renewed = endsAt === undefined ? undefined : { at: nextEnd, applied: before?.applied ?? applied }
  options.hold.follow({
    isPaused: isPaused || before?.isPaused === true,
    background: background ?? renewed
  })
}

/** The holder's clocks once the events of a turn are stored, before anything else leaves the run. */
export const followInHolder = (session: RunSession, applied: number): void => {
  const { options, process } = session
  if (process !== undefined && !isEnding(session)) options.hold?.follow(heldClocks(session, process, applied))
}

/** The holder's clocks of an adopted run: without those that outputs may have changed which are not applied. */
export const continueInHolder = (session: RunSession, process: RunProcess, adopted: AdoptedRun): void => {
  const { kernel, options } = session
  const clocks = heldClocks(session, process, kernel.position.bytes)
  const isSure = adopted.outputs.length === 0
  options.hold?.continueAfter(adopted.elapsed.wall, isSure ? clocks : { ...clocks, background: undefined })
}
