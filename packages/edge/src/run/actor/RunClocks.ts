/**
 * Clocks of a run: of its active time, of the silence of its runtime, and of its work in the background, and which of them run after a turn. The
 * time of a pending approval or question counts neither as silence nor towards a limit of the run or of its background work. While the runtime is
 * idle, only its background work is limited. A pause stops all but the cap.
 */
import { isSettling } from "@corral/domain/run/RunMachine"
import { Clock, Effect, Fiber, type Scope } from "effect"
import type { RunTimes } from "../../config/EdgeConfig.ts"
import type { RunMessage } from "../kernel/RunMessage.ts"
import type { RunRecorder } from "../kernel/RunRecorder.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { AdoptedRun, HeldClocks, RunSession } from "./RunSession.ts"

type SilenceKind = "first_event" | "silence"

/** Which output did not come, and its limit in milliseconds. */
interface MissedOutput {
  readonly kind: SilenceKind
  readonly afterMs: number
}

export interface SilenceLimits {
  /** Milliseconds from the start to the first output. */
  readonly firstEvent: number
  /** Milliseconds between two outputs. */
  readonly silence: number
  /** Milliseconds of silence until the first notice; without it there is none. */
  readonly silenceNotice?: number | undefined
}

/**
 * Detects a silent runtime: no first output after its start, or no further output for too long. Waiting for a person does not count. Long before
 * that it emits notices, each after twice the time of the one before. A running tool causes no notice.
 *
 * Each output costs one assignment. The clock checks only when a silence can be long enough.
 */
export class SilenceClock {
  private readonly now: () => number
  private readonly limits: SilenceLimits
  private lastOutputAt: number
  private hasOutput = false
  private standing = false
  private working = false

  constructor(limits: SilenceLimits, now: () => number) {
    this.limits = limits
    this.now = now
    this.lastOutputAt = now()
  }

  recordOutput(): void {
    this.hasOutput = true
    this.lastOutputAt = this.now()
  }

  /** Stops the clock while a person decides; the clock starts again afterwards. */
  stand(standing: boolean): void {
    if (this.standing && !standing) this.lastOutputAt = this.now()
    this.standing = standing
  }

  /** A tool works: its program may print nothing. */
  work(working: boolean): void {
    this.working = working
  }

  private get limit(): number {
    return this.hasOutput ? this.limits.silence : this.limits.firstEvent
  }

  /** Milliseconds until the limit is reached where nothing is heard before; 0 or less: it is. */
  private left(): number {
    return this.standing ? this.limit : this.lastOutputAt + this.limit - this.now()
  }

  /**
   * Succeeds with what was missed, and its limit in milliseconds, when it was missed. Until then it calls `notice` with the milliseconds
   * of each silence. One fiber does both: a run that waits holds little memory.
   */
  watch(notice: (silentMs: number) => void): Effect.Effect<MissedOutput> {
    const { silence, silenceNotice = Infinity } = this.limits
    let since = this.lastOutputAt
    let wait = silenceNotice
    /** Emits the notice that is due; milliseconds until another one can be. */
    const untilNotice = (): number => {
      const isBusy = this.standing || this.working
      if (since !== this.lastOutputAt || isBusy) {
        since = this.lastOutputAt
        wait = silenceNotice
      }
      if (isBusy) return silenceNotice
      const silentMs = this.now() - since
      if (silentMs >= wait) {
        wait *= 2
        notice(silentMs)
      }
      return Math.min(wait - silentMs, silenceNotice)
    }
    const look: Effect.Effect<MissedOutput> = Effect.suspend(() => {
      const left = this.left()
      // The first output can come meanwhile, and the limit after it can be the shorter one.
      return left > 0
        ? Effect.andThen(Effect.sleep(Math.min(left, silence, untilNotice())), look)
        : Effect.succeed({ kind: this.hasOutput ? "silence" : "first_event", afterMs: this.limit })
    })
    return look
  }
}

export const makeSilenceClock = (limits: SilenceLimits): Effect.Effect<SilenceClock> =>
  Effect.map(Clock.Clock, (clock) => new SilenceClock(limits, () => clock.currentTimeMillisUnsafe()))

/**
 * Timeout whose clock is paused while an approval is pending. Returns the function that starts (`true`) or pauses (`false`) the clock. Calls `onTimeout` once, after `budgetMs` of running time. Ends
 * with the scope.
 */
export const makeActiveClock = Effect.fnUntraced(function* (budgetMs: number, onTimeout: () => void) {
  const clock = yield* Clock.Clock
  let left = budgetMs
  let since = 0
  let timer: Fiber.Fiber<void> | undefined
  let over = false
  const timeOut = Effect.sync(() => {
    over = true
    onTimeout()
  })
  // A plain function: each waiting run holds it, and one of `Effect.fn` has a dictionary of properties.
  return (run: boolean) =>
    Effect.gen(function* () {
      if (over || run === (timer !== undefined)) return
      if (timer !== undefined) {
        yield* Fiber.interrupt(timer)
        timer = undefined
        left -= clock.currentTimeMillisUnsafe() - since
        return
      }
      since = clock.currentTimeMillisUnsafe()
      timer = yield* Effect.forkScoped(Effect.andThen(Effect.sleep(Math.max(left, 0)), timeOut))
    })
})

/** What the clocks need of a run's session. */
interface ClockedRun {
  readonly options: {
    readonly recorder: Pick<RunRecorder, "run" | "state">
    readonly times: Pick<RunTimes, "background" | "settle">
  }
  readonly post: (message: RunMessage) => boolean
}

/** What the clocks follow. */
interface IdleState {
  /** The turn that has ended; `undefined` while a turn is in progress. */
  readonly idleTurn: number | undefined
  /** Whether the limit of the background work comes closer. */
  readonly isBackground: boolean
  /** Whether only a further turn is missing. */
  readonly isSettling: boolean
}

type Timer = Fiber.Fiber<unknown>

/**
 * Clocks of a run whose runtime has ended its turn: the limit of its background work, counted from the end of the turn, and the short wait for a
 * further turn that is due.
 */
export class IdleClocks {
  readonly #session: ClockedRun
  readonly #limitMs: number
  readonly #clock: Clock.Clock
  #turn: number | undefined
  #left: number
  #since = 0
  #background: Timer | undefined
  #settle: Timer | undefined

  /** `elapsed`: milliseconds of the limit that the idle turn of an adopted run has used. */
  constructor(session: ClockedRun, clock: Clock.Clock, elapsed: number) {
    const { recorder, times } = session.options
    this.#session = session
    this.#clock = clock
    this.#limitMs = recorder.run.backgroundMs ?? times.background
    this.#turn = recorder.state.isIdle ? recorder.state.turn : undefined
    this.#left = this.#limitMs - elapsed
  }

  /** Unix milliseconds at which the limit is reached; `undefined` while its clock stands. */
  get endsAt(): number | undefined {
    return this.#background === undefined ? undefined : this.#since + this.#left
  }

  /** What `endsAt` is once the clocks follow this state. */
  endFor({ idleTurn, isBackground }: Pick<IdleState, "idleTurn" | "isBackground">): number | undefined {
    if (!isBackground || idleTurn === undefined) return undefined
    if (idleTurn !== this.#turn) return this.#now + this.#limitMs
    return this.endsAt ?? this.#now + this.#left
  }

  /** When a limit that starts now is reached. */
  get nextEnd(): number {
    return this.#now + this.#limitMs
  }

  follow({ idleTurn, isBackground, isSettling }: IdleState): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      if (idleTurn !== this.#turn) {
        yield* this.#standBackground()
        yield* this.#stopSettling()
        this.#turn = idleTurn
        this.#left = this.#limitMs
      }
      if (isBackground && idleTurn !== undefined) yield* this.#runBackground(idleTurn)
      else yield* this.#standBackground()
      yield* isSettling ? this.#startSettling() : this.#stopSettling()
    })
  }

  #runBackground(turn: number): Effect.Effect<void, never, Scope.Scope> {
    if (this.#background !== undefined) return Effect.void
    this.#since = this.#now
    const reached = { _tag: "BackgroundEnded", turn, afterMs: this.#limitMs } as const
    return Effect.map(
      Effect.forkScoped(
        Effect.andThen(
          Effect.sleep(Math.max(0, this.#left)),
          Effect.sync(() => this.#session.post(reached))
        )
      ),
      (timer) => void (this.#background = timer)
    )
  }

  #standBackground(): Effect.Effect<void> {
    const timer = this.#background
    if (timer === undefined) return Effect.void
    this.#background = undefined
    this.#left -= this.#now - this.#since
    return Fiber.interrupt(timer)
  }

  /** Repeats its message: one that comes in the same batch as a question or a turn counts for nothing, and the run waits again after it. */
  #startSettling(): Effect.Effect<void, never, Scope.Scope> {
    if (this.#settle !== undefined) return Effect.void
    const { options, post } = this.#session
    return Effect.map(
      Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sleep(options.times.settle),
            Effect.sync(() => post({ _tag: "Settled" }))
          )
        )
      ),
      (timer) => void (this.#settle = timer)
    )
  }

  #stopSettling(): Effect.Effect<void> {
    const timer = this.#settle
    if (timer === undefined) return Effect.void
    this.#settle = undefined
    return Fiber.interrupt(timer)
  }

  get #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }
}

export const makeIdleClocks = (session: ClockedRun, elapsed: number): Effect.Effect<IdleClocks> =>
  Effect.map(Clock.Clock, (clock) => new IdleClocks(session, clock, elapsed))

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
