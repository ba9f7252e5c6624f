/** Times at which the holder ends a run if no Edge does. The end of the time budget moves by the length of each pause. */
import type { Run } from "@corral/domain/run/Run"
import type { HeldUntil } from "../holder/HolderMessages.ts"

export class RunTimeLimits {
  /** Unix milliseconds. */
  readonly #cap: number
  readonly #wallMs: number | undefined
  #wall: number | undefined
  #background: Required<Pick<HeldUntil, "background" | "applied">> | undefined
  #pausedAt: number | undefined

  constructor({ budget, createdAt }: Run, capMs: number) {
    this.#cap = Date.parse(createdAt) + capMs
    this.#wallMs = budget?.wallMs
  }

  /** The process has run for `elapsed` milliseconds of its time budget. */
  start(now: number, elapsed: number): HeldUntil {
    if (this.#wallMs !== undefined) this.#wall = now + this.#wallMs - elapsed
    return this.until
  }

  /** Returns whether the limits have changed. */
  pause(isPaused: boolean, now: number): boolean {
    if (isPaused === (this.#pausedAt !== undefined)) return false
    if (this.#wall !== undefined && this.#pausedAt !== undefined) this.#wall += now - this.#pausedAt
    this.#pausedAt = isPaused ? now : undefined
    return this.#wall !== undefined
  }

  /**
   * `at`: the end of the background work, in Unix milliseconds; `undefined` while it is not limited. `applied`: bytes of output that led to it.
   * Returns whether the limits have changed.
   */
  limitBackground(at: number | undefined, applied: number): boolean {
    const before = this.#background
    const isSame = before?.background === at && (at === undefined || before?.applied === applied)
    if (!isSame) this.#background = at === undefined ? undefined : { background: at, applied }
    return !isSame
  }

  get until(): HeldUntil {
    const wall = this.#pausedAt === undefined ? this.#wall : undefined
    return { cap: this.#cap, ...(wall === undefined ? {} : { wall }), ...this.#background }
  }
}
