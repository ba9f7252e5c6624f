/**
 * The part of a run that the holder has, so that it outlives its Edge: the process with its pipes, and what the next Edge needs to know.
 *
 * A run without it ends with its Edge.
 */
import type { Effect } from "effect"
import type { RunChild, RunChildHandlers } from "../../process/RunChild.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import type { Run } from "@corral/domain/run/Run"
import type { HeldUntil } from "../../holder/HolderMessages.ts"

// Times at which the holder ends a run if no Edge does. The end of the time budget moves by the length of each pause.

/** What the holder's clocks follow. */
export interface HeldClocks {
  /** The time budget of a paused run stands. */
  readonly isPaused: boolean
  /** The limit of the background work; `undefined` while it is not limited. */
  readonly background: BackgroundLimit | undefined
}

interface BackgroundLimit {
  /** Its end, in Unix milliseconds. */
  readonly at: number
  /** Bytes of output that led to it. The limit does not count for a program that has printed more. */
  readonly applied: number
}

export class RunTimeLimits {
  /** Unix milliseconds. */
  readonly #cap: number
  readonly #wallMs: number | undefined
  #wall: number | undefined
  #background: BackgroundLimit | undefined
  #pausedAt: number | undefined

  constructor({ budget, createdAt }: Run, capMs: number) {
    this.#cap = Date.parse(createdAt) + capMs
    this.#wallMs = budget?.wallMs
  }

  /** The process has run for `elapsed` milliseconds of its time budget. */
  start(now: number, elapsed: number, clocks?: HeldClocks): HeldUntil {
    if (clocks !== undefined) this.follow(clocks, now)
    if (this.#wallMs !== undefined) this.#wall = now + this.#wallMs - elapsed
    return this.until
  }

  /** Returns whether the limits have changed. */
  follow({ background, isPaused }: HeldClocks, now: number): boolean {
    const before = this.#background
    this.#background = background
    const hasMoved = this.#pause(isPaused, now)
    return hasMoved || before?.at !== background?.at || before?.applied !== background?.applied
  }

  get until(): HeldUntil {
    const wall = this.#pausedAt === undefined ? this.#wall : undefined
    const { applied, at: background } = this.#background ?? {}
    return {
      cap: this.#cap,
      ...(wall === undefined ? {} : { wall }),
      ...(background === undefined ? {} : { background, applied })
    }
  }

  #pause(isPaused: boolean, now: number): boolean {
    if (isPaused === (this.#pausedAt !== undefined)) return false
    if (this.#wall !== undefined && this.#pausedAt !== undefined) this.#wall += now - this.#pausedAt
    this.#pausedAt = isPaused ? now : undefined
    return this.#wall !== undefined
  }
}

export interface RunHold {
  /** The control group of the run at the holder. `undefined` before the start of a program that enters its group by itself. */
  readonly group: string | undefined
  /** Bytes of stdout that are stored for the next Edge. */
  readonly maxOutput?: number | undefined
  /** Starts the program in the holder. */
  readonly start: (spec: SubprocessSpec, handlers: RunChildHandlers) => RunChild
  /** The adopted process has used that many milliseconds of its time budget. */
  readonly continueAfter: (elapsed: number, clocks: HeldClocks) => void
  /** What the clocks follow from now on, also without an Edge. */
  readonly follow: (clocks: HeldClocks) => void
  /** Keeps the private key of a question with secret answers in memory, for the next Edge. */
  readonly keepKey: (inputId: string, privateKey: string) => void
  /** Whether this Edge leaves the run to the next one. Then nothing of the run is ended or removed. */
  readonly isLeft: boolean
  /** The run is over: the holder forgets it. */
  readonly end: Effect.Effect<void>
  /** Closes the connection. The run continues. */
  readonly leave: () => void
}
