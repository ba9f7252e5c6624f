/** One socket of a link as the server looks after it: whether the other side still answers, how much it sends before it has proved anything, and its end. */
import type { LinkCloseCode } from "@corral/domain/link/EdgeLink"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"

export class LinkSocket {
  readonly openedAt: number
  private readonly webSocket: WebSocket
  private readonly stream: Duplex
  private heardAt: number
  private pingedAt: number
  private ended = false
  /** Of the closing handshake. */
  private ticksLeft = 2
  private unprovedBytes = 0

  constructor(webSocket: WebSocket, stream: Duplex, now: number) {
    this.webSocket = webSocket
    this.stream = stream
    this.openedAt = now
    this.heardAt = now
    this.pingedAt = now
    webSocket.on("error", () => undefined)
    webSocket.on("pong", () => (this.heardAt = this.pingedAt))
    stream.on("data", this.count)
  }

  /** From now on it may send as much as any link. */
  markProved(): void {
    this.stream.off("data", this.count)
  }

  /** Once a second: asks whether the other side is there, and gives up what does not answer or does not read. */
  tick(now: number): void {
    const silent = now - this.heardAt > SILENT_MS && this.pingedAt > this.heardAt
    if (silent || this.webSocket.bufferedAmount > MAX_BUFFERED) return this.terminate()
    if (this.ended) {
      this.ticksLeft--
      if (this.ticksLeft < 0) this.terminate()
      return
    }
    if (now - this.pingedAt < PING_EVERY_MS) return
    this.pingedAt = now
    this.webSocket.ping()
  }

  /** Closes it when what is being answered now has been sent. */
  end(code: LinkCloseCode, reason: string): void {
    if (this.ended) return
    this.ended = true
    setTimeout(() => this.webSocket.close(code, reason), ANSWERED_MS).unref()
  }

  terminate(): void {
    this.webSocket.terminate()
  }

  private readonly count = (bytes: Buffer): void => {
    this.unprovedBytes += bytes.length
    if (this.unprovedBytes > MAX_UNPROVED_BYTES) this.terminate()
  }
}

const PING_EVERY_MS = 10_000
const SILENT_MS = 25_000
/** For the answer that says why. */
const ANSWERED_MS = 20
/** Bytes that wait for a peer that does not read. */
const MAX_BUFFERED = 4 * 8 * 1_048_576
/** An offer, and a little more. */
const MAX_UNPROVED_BYTES = 1_048_576
