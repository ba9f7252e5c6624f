/**
 * Clocks of a run whose runtime has ended its turn: the limit of its background work, counted from the end of the turn, and the short wait for a
 * further turn that is due.
 */
import { Clock, Effect, Fiber, type Scope } from "effect"
import type { RunMessage } from "../kernel/RunMessage.ts"
import type { RunRecorder } from "../kernel/RunRecorder.ts"
import type { RunTimes } from "../../config/EdgeConfig.ts"

/** What the clocks need of a run's session. */
export interface ClockedRun {
  readonly options: {
    readonly recorder: Pick<RunRecorder, "run" | "state">
    readonly times: Pick<RunTimes, "background" | "settle">
  }
  readonly post: (message: RunMessage) => boolean
}

/** What the clocks follow. */
export interface IdleState {
  /** The turn that has ended; `undefined` while a turn is in progress. */
  readonly idleTurn: number | undefined
  /** Whether the limit of the background work comes closer. */
  readonly isBackground: boolean
  /** Whether only a further turn is missing. */
  readonly isSettling: boolean
}

type Timer = Fiber.Fiber<unknown>

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
