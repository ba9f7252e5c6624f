/** Socket of one link: its pings, its limit on data before the first proof, and its end. */
import type { LinkCloseCode } from "@corral/domain/link/EdgeLink"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"

export class LinkSocket {
  readonly openedAt: number
  private readonly webSocket: WebSocket
  private readonly stream: Duplex
  private lastPongAt: number
  private pingedAt: number
  private isEnding = false
  /** Ticks left for the closing handshake. */
  private ticksLeft = 2
  private unprovedBytes = 0

  constructor(webSocket: WebSocket, stream: Duplex, now: number) {
    this.webSocket = webSocket
    this.stream = stream
    this.openedAt = now
    this.lastPongAt = now
    this.pingedAt = now
    webSocket.on("error", () => undefined)
    webSocket.on("pong", () => (this.lastPongAt = this.pingedAt))
    stream.on("data", this.countUnproved)
  }

  /** Lifts the limit on received data. */
  markProved(): void {
    this.stream.off("data", this.countUnproved)
  }

  /** Once a second: pings, and terminates a peer that does not answer or does not read. */
  tick(now: number): void {
    const isSilent = now - this.lastPongAt > SILENT_MS && this.pingedAt > this.lastPongAt
    if (isSilent || this.webSocket.bufferedAmount > MAX_BUFFERED) return this.terminate()
    if (this.isEnding) {
      this.ticksLeft--
      if (this.ticksLeft < 0) this.terminate()
      return
    }
    if (now - this.pingedAt < PING_EVERY_MS) return
    this.pingedAt = now
    this.webSocket.ping()
  }

  /** Closes the socket after pending responses are sent. */
  end(code: LinkCloseCode, reason: string): void {
    if (this.isEnding) return
    this.isEnding = true
    setTimeout(() => this.webSocket.close(code, reason), RESPONSE_MS).unref()
  }

  terminate(): void {
    this.webSocket.terminate()
  }

  private readonly countUnproved = (bytes: Buffer): void => {
    this.unprovedBytes += bytes.length
    if (this.unprovedBytes > MAX_UNPROVED_BYTES) this.terminate()
  }
}

const PING_EVERY_MS = 10_000
const SILENT_MS = 25_000
/** Time for the response that explains the end. */
const RESPONSE_MS = 20
/** Buffered bytes for a peer that does not read. */
const MAX_BUFFERED = 4 * 8 * 1_048_576
/** Room for the largest offer. */
const MAX_UNPROVED_BYTES = 1_048_576
