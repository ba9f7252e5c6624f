/**
 * The Hub that serves this page: its calls, when a new page may read, and the keys of its writes. Authenticates by the browser's cookie. Writes
 * repeat the CSRF token.
 */
import { Transport } from "@corral/client/http/Transport"
import { csrfHeaders, hubCalls } from "@corral/client/Hub"
import { useRef } from "react"

/** A new page reads after this time although it does not follow changes yet. */
const LONGEST_HOLD_MS = 3_000

/**
 * Holds the reads of a new page until it follows the changes of the Hub: a change between a read and the connection would not be seen until the
 * next one.
 */
class ReadHold {
  private readonly reads = Promise.withResolvers<void>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private isReleased = false

  /** Waits for the release. It comes at most `LONGEST_HOLD_MS` after the first read. */
  wait(): Promise<void> {
    this.timer ??= setTimeout(() => this.release(), LONGEST_HOLD_MS)
    return this.reads.promise
  }

  /** Returns whether no read was sent before. */
  release(): boolean {
    const wasHeld = !this.isReleased
    this.isReleased = true
    clearTimeout(this.timer)
    this.reads.resolve()
    return wasHeld
  }
}

export const readHold = new ReadHold()

/** For event streams, which pages load when they need them. */
export const hubTransport = new Transport({ url: "", headers: csrfHeaders })

/** Calls that are not held: those that come before a page. */
export const earlyApi = hubCalls(hubTransport)

export const hubApi = hubCalls(
  new Transport({
    ...hubTransport.options,
    fetch: async (address, init) => {
      if (init?.method === "GET") await readHold.wait()
      return fetch(address, init)
    }
  })
)

/** For messages: the Hub stores one before any device is asked. Their writer learns soon that one did not arrive. */
export const messageLimit = { timeoutMs: 15_000 } as const

/** Idempotency key of a form: the same for every attempt with the same payload, so that a retry has no second effect. */
export const useIdempotencyKey = (): ((payload: unknown) => { readonly "idempotency-key": string }) => {
  const last = useRef({ text: "", key: "" })
  return (payload) => {
    const text = JSON.stringify(payload)
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() }
    return { "idempotency-key": last.current.key }
  }
}
