/**
 * Reconnection of event streams: the pause before the next connection, and the end of trying.
 *
 * Pauses double, with jitter, and start again after a connection that was accepted.
 */
import { CorralError } from "../http/CorralError.ts"

/** `live` while the service sends; `lost` between two connections. */
export type ConnectionState = "live" | "lost"

export interface ReconnectionOptions {
  readonly signal?: AbortSignal | undefined
  /** Called when the connection is established and when it is lost. `heardAt`: when the service was last heard, if it ever was. */
  readonly onConnection?: (state: ConnectionState, heardAt: Date | undefined) => void
  /** Connections in a row that may fail before the stream fails with their error. Unlimited by default. */
  readonly maxFailures?: number
  /** The first pause and the longest one, in milliseconds; 400 and 15,000 by default. */
  readonly pauses?: readonly [first: number, longest: number]
  /** Waits before the next connection. The default ends early when a browser's page is seen or online again. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

// A browser's page may have missed something: its timers stand still while the computer sleeps and are late while it is hidden.

const wakeEvents = ["focus", "online", "pageshow", "visibilitychange"] as const

/**
 * Calls `listener` when the page is seen, used or online again. Returns how to stop that. Other programs have none of these events.
 *
 * @internal
 */
export const onPageWake = (listener: () => void): (() => void) => {
  const wake = () => {
    if (globalThis.document?.visibilityState !== "hidden") listener()
  }
  for (const type of wakeEvents) globalThis.addEventListener?.(type, wake)
  return () => {
    for (const type of wakeEvents) globalThis.removeEventListener?.(type, wake)
  }
}

const DEFAULT_PAUSES = [400, 15_000] as const

/** Waits. Returns early when the signal aborts, or a browser's page is seen or online again. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      stopWatching()
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    const stopWatching = onPageWake(done)
    signal?.addEventListener("abort", done)
    if (signal?.aborted === true) done()
  })

export class Reconnection {
  private readonly options: ReconnectionOptions
  private state: ConnectionState | undefined
  private failures = 0
  private heardAt: Date | undefined

  constructor(options: ReconnectionOptions) {
    this.options = options
  }

  /** The service accepted the connection. */
  connected(): void {
    this.failures = 0
    this.markHeard()
    this.report("live")
  }

  /** The service sent something. */
  markHeard(): void {
    this.heardAt = new Date()
  }

  /** Waits for the time of the next connection. Fails with an error after which no connection can succeed. */
  async next(error?: unknown): Promise<void> {
    const { maxFailures = Infinity, pauses = DEFAULT_PAUSES, signal, wait = pause } = this.options
    signal?.throwIfAborted()
    if (error !== undefined && !(error instanceof CorralError && error.isTransient)) throw error
    this.report("lost")
    if (++this.failures > maxFailures)
      throw error ?? new CorralError("unreachable", { message: "The server ended the stream repeatedly." })
    const [first, longest] = pauses
    const ms = Math.min(first * 2 ** (this.failures - 1), longest)
    await wait(ms * (0.5 + Math.random() / 2), signal)
    signal?.throwIfAborted()
  }

  private report(state: ConnectionState): void {
    if (this.state === state) return
    this.state = state
    this.options.onConnection?.(state, this.heardAt)
  }
}
