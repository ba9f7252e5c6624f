/** How full a socket is, as its kernel sees it. */
import type { Duplex } from "node:stream"

/**
 * Bytes of a write that the kernel has not taken yet. `drain` tells only of whole writes; this falls with each part, and it is what
 * Node's own socket timeout goes by.
 */
export const queuedOf = (stream: Duplex): number => {
  // A connection of Node's HTTP server is a net.Socket, whose handle has this counter; without it a write counts as a whole.
  const { _handle: handle } = stream as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
