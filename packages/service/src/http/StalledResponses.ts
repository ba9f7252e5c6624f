/**
 * Stalled responses. A connection is destroyed after `STALLED_AFTER_SECONDS` without progress.
 *
 * Applies to event streams, files and pages. A slow reader is not stalled. Does not: handle upgraded sockets.
 */
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import type { Server, ServerResponse } from "node:http"
import { queuedOf } from "./WriteQueue.ts"

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
