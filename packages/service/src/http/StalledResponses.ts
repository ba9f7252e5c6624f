/**
 * Stalled responses. A connection is destroyed after `STALLED_AFTER_SECONDS` without progress. Also the bytes that wait for the kernel.
 *
 * Applies to event streams, files and pages. A slow reader is not stalled. Does not: handle upgraded sockets.
 */
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import type { Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

// Bytes of a socket that the kernel has not taken.

/**
 * Bytes of a write that the kernel has not taken yet. `drain` reports whole writes only. This number falls with each part; Node's own
 * socket timeout uses it too.
 */
export const queuedOf = (stream: Duplex): number => {
  // A connection of Node's HTTP server is a net.Socket, whose handle has this counter; without it a write counts as a whole.
  const { _handle: handle } = stream as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

const LOOK_EVERY_MS = 1_000

interface Blocked {
  readonly since: number
  readonly queued: number
}

/** Watches every response of a server until it closes. */
export const dropStalledResponses = (server: Server, now: () => number): void => {
  const open = new Map<ServerResponse, Blocked | undefined>()
  server.on("request", (_, response) => {
    open.set(response, undefined)
    response.once("close", () => open.delete(response))
  })
  const look = () => {
    for (const [response, blocked] of open) {
      const { socket } = response
      const queued = socket === null ? 0 : queuedOf(socket)
      if (queued === 0) open.set(response, undefined)
      else if (blocked === undefined || blocked.queued !== queued)
        open.set(response, { since: now(), queued })
      else if (now() - blocked.since >= STALLED_AFTER_SECONDS * 1_000) socket?.destroy()
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  server.once("close", () => clearInterval(timer))
}
