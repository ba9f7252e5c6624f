/**
 * Detects a silent runtime: no first output after its start, or no further output for too long. Waiting for a person does not count.
 * Long before that it emits notices, each after twice the time of the one before. A running tool causes no notice.
 *
 * Each output costs one assignment. The clock checks only when a silence can be long enough.
 */
import { Clock, Effect } from "effect"

export type SilenceKind = "first_event" | "silence"

/** Which output did not come, and its limit in milliseconds. */
export interface MissedOutput {
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
