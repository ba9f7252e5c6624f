/**
 * One subscriber of `/v1/events`: a cursor into the log and a socket, as plain synchronous code.
 *
 * While it keeps up it is handed each batch as it becomes durable, as frames that are made once and shared by all who keep up. When its
 * socket is full it is simply behind, and reads the log from where it stopped when the socket drains: a slow reader blocks nobody and
 * costs no memory. One that takes nothing for `STALLED_AFTER_SECONDS` is closed with 1013; one that takes a little is not, as far as the
 * kernel lets that be seen: it holds some megabytes for a reader and asks for more when about a third of them has been taken.
 */
import { closeCodes, PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { LogBatch } from "../log/LogBatch.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"
import { framesOf } from "@corral/service/http/Frames"
import { queuedOf } from "@corral/service/http/WriteQueue"

export interface Subscription {
  /** `undefined`: all runs, each in its own order. */
  readonly runId: RunId | undefined
  readonly after: number
  /** The run has ended and its last event is not after `after`: there is nothing to wait for. */
  readonly over: boolean
}

/** Characters of log that are read at once for a reader that is behind. */
const PAGE = 65_536

/** A stalled reader that starts to read again in this time learns why it was closed; then the socket is destroyed. */
const CLOSE_WITHIN_MS = 3_000

export class EventSocket {
  private readonly socket: WebSocket
  private readonly stream: Duplex
  private readonly log: EdgeEventLog["Service"]
  private readonly now: () => number
  private readonly runId: RunId | undefined
  private readonly unfollow: () => void
  private readonly onDrain = () => this.drained()
  /** Last seq sent; for all runs, the last batch sent. */
  private position: number
  /** Unix milliseconds since when the full socket takes nothing; `undefined` while it takes what it is given. */
  private blockedSince: number | undefined
  /** Bytes that waited for the kernel when that was last looked at. */
  private queued = 0
  private lastPing: number
  private ended = false
  /** Unix milliseconds since when a stalled reader is being closed. */
  private closingSince: number | undefined
  private pumping = false

  constructor(
    socket: WebSocket,
    stream: Duplex,
    log: EdgeEventLog["Service"],
    now: () => number,
    { runId, after, over }: Subscription
  ) {
    this.now = now
    this.lastPing = now()
    this.socket = socket
    this.stream = stream
    this.log = log
    this.runId = runId
    this.position = after
    this.unfollow = log.follow(runId, (batch) => this.told(batch))
    stream.on("drain", this.onDrain)
    socket.on("error", () => undefined)
    if (over) this.end(closeCodes.ended, "the run has ended")
    // While its events are being dropped too: what is left of them is not begun with.
    else if (runId !== undefined && log.isForgotten(runId)) this.end(closeCodes.replayGap, "replay_gap")
    else this.pump()
  }

  /** Called every second: pings, and closes a reader that has stalled. */
  tick(): void {
    const now = this.now()
    if (this.closingSince !== undefined && now - this.closingSince >= CLOSE_WITHIN_MS) this.socket.terminate()
    if (this.ended) return
    if (this.blockedSince !== undefined && this.queued !== queuedOf(this.stream)) this.block(now)
    if (this.blockedSince !== undefined && now - this.blockedSince > STALLED_AFTER_SECONDS * 1_000) {
      this.closingSince = now
      this.end(closeCodes.stalled, "the reader stalled")
    } else if (now - this.lastPing > PING_EVERY_SECONDS * 1_000) {
      this.lastPing = now
      if (this.blockedSince === undefined) this.socket.ping()
    }
  }

  /** Lets go of the log. The socket is closed by whoever owns it. */
  release(): void {
    this.ended = true
    this.unfollow()
    this.stream.off("drain", this.onDrain)
  }

  terminate(): void {
    this.release()
    this.socket.terminate()
  }

  end(code: number, reason: string): void {
    if (this.ended) return
    this.release()
    this.socket.close(code, reason)
  }

  private told(batch: LogBatch): void {
    if (this.blockedSince !== undefined || this.pumping || this.ended) return
    if (this.runId !== undefined && batch.firstSeq === this.position + 1) {
      this.send(batch)
    } else {
      this.pump()
    }
  }

  private drained(): void {
    this.blockedSince = undefined
    this.pump()
  }

  private block(now: number): void {
    this.blockedSince = now
    this.queued = queuedOf(this.stream)
  }

  /** Sends what the log has after the position, until it is all sent or the socket is full. */
  private pump(): void {
    this.pumping = true
    try {
      this.sendStored()
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      this.end(closeCodes.damaged, "the stored events are damaged")
    }
    this.pumping = false
  }

  private sendStored(): void {
    while (this.blockedSince === undefined && !this.ended) {
      const batches =
        this.runId === undefined
          ? this.log.readAll(this.position, PAGE)
          : this.log.read(this.runId, this.position, PAGE)
      if (batches.length === 0) {
        if (this.runId !== undefined && this.log.isForgotten(this.runId)) {
          this.end(closeCodes.replayGap, "replay_gap")
        }
        break
      }
      for (const batch of batches) {
        if (this.blockedSince !== undefined) break
        this.send(batch)
      }
    }
  }

  private send(batch: LogBatch): void {
    if (this.ended) return
    this.position = this.runId === undefined ? batch.batch : batch.lastSeq
    // Whole frames between the library's own whole frames: no extension is negotiated, so none is ever torn.
    if (!this.stream.write(framesOf(batch))) this.block(this.now())
    if (batch.terminal && this.runId !== undefined) this.end(closeCodes.ended, "the run has ended")
  }
}
