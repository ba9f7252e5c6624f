/**
 * Detects a silent runtime: no first output after its start, or no further output for too long. Waiting for a person does not count.
 * Long before that it emits notices, each after twice the time of the one before. A running tool causes no notice.
 *
 * Each output costs one assignment. The clock checks only when a silence can be long enough.
 */
import { Clock, Effect } from "effect"

export type Silence = "first_event" | "silence"

export interface SilenceLimits {
  /** Milliseconds from the start to the first output. */
  readonly firstEvent: number
  /** Milliseconds between two outputs. */
  readonly silence: number
  /** Milliseconds of silence until the first notice; without it there is none. */
  readonly silenceNotice?: number | undefined
}

export class SilenceClock {
  private readonly now: () => number
  private readonly limits: SilenceLimits
  private lastHeard: number
  private spoken = false
  private standing = false
  private working = false

  constructor(limits: SilenceLimits, now: () => number) {
    this.limits = limits
    this.now = now
    this.lastHeard = now()
  }

  heard(): void {
    this.spoken = true
    this.lastHeard = this.now()
  }

  /** Stops the clock while a person decides; the clock starts again afterwards. */
  stand(standing: boolean): void {
    if (this.standing && !standing) this.lastHeard = this.now()
    this.standing = standing
  }

  /** A tool works: its program may print nothing. */
  work(working: boolean): void {
    this.working = working
  }

  private get limit(): number {
    return this.spoken ? this.limits.silence : this.limits.firstEvent
  }

  /** Milliseconds until the limit is reached where nothing is heard before; 0 or less: it is. */
  private left(): number {
    return this.standing ? this.limit : this.lastHeard + this.limit - this.now()
  }

  /** Calls `notice` with the milliseconds of a silence, again and again, until it is interrupted. */
  readonly notices = (notice: (silentMs: number) => void): Effect.Effect<void> => {
    const { silenceNotice = Infinity } = this.limits
    let since = this.lastHeard
    let wait = silenceNotice
    const look: Effect.Effect<void> = Effect.suspend(() => {
      const isBusy = this.standing || this.working
      if (since !== this.lastHeard || isBusy) {
        since = this.lastHeard
        wait = silenceNotice
      }
      const silentMs = this.now() - since
      if (isBusy || silentMs < wait) {
        const left = isBusy ? silenceNotice : Math.min(wait - silentMs, silenceNotice)
        return Effect.andThen(Effect.sleep(left), look)
      }
      wait *= 2
      notice(silentMs)
      return look
    })
    return silenceNotice === Infinity ? Effect.void : look
  }

  /** Succeeds with what was missed, and its limit in milliseconds, when it was missed. */
  readonly missed: Effect.Effect<{ readonly kind: Silence; readonly afterMs: number }> = Effect.suspend(
    () => {
      const left = this.left()
      // The first word may come meanwhile, and the limit after it may be the shorter one.
      return left > 0
        ? Effect.andThen(Effect.sleep(Math.min(left, this.limits.silence)), this.missed)
        : Effect.succeed({ kind: this.spoken ? "silence" : "first_event", afterMs: this.limit })
    }
  )
}

export const makeSilenceClock = (limits: SilenceLimits): Effect.Effect<SilenceClock> =>
  Effect.map(Clock.Clock, (clock) => new SilenceClock(limits, () => clock.currentTimeMillisUnsafe()))
