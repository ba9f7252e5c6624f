/** Bytes of a socket that the kernel has not taken. */
import type { Duplex } from "node:stream"

/**
 * Bytes of a write that the kernel has not taken yet. `drain` reports whole writes only. This number falls with each part; Node's own
 * socket timeout uses it too.
 */
export const queuedOf = (stream: Duplex): number => {
  // A connection of Node's HTTP server is a net.Socket, whose handle has this counter; without it a write counts as a whole.
  const { _handle: handle } = stream as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
