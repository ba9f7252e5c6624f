/**
 * One subscriber of `/client/events`: a cursor into the logs of one run, or of the runs of one session, and a socket.
 *
 * While it keeps up it is handed each batch that has come, as frames that are made once and shared by all who keep up. Where its socket
 * is full it is simply behind, and reads the log from where it stopped when the socket drains: a slow reader blocks nobody and costs no
 * memory. One that takes nothing for `STALLED_AFTER_SECONDS` is closed with 1013.
 */
import { closeCodes, PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import { framesOf } from "@corral/service/http/Frames"
import { queuedOf } from "@corral/service/http/WriteQueue"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import type { LogBatch } from "../run/LogBatch.ts"
import type { RunFollower } from "./RunFeeds.ts"

/** What a subscriber reads. A promise that is rejected closes it. */
export interface LogSource {
  /** The runs that it follows, as far as they are known. */
  readonly runs: () => Promise<ReadonlyArray<RunId>>
  /** Some batches after `after`; none at the log's end. */
  readonly read: (runId: RunId, after: number) => Promise<ReadonlyArray<LogBatch>>
}

export interface Start {
  /** Whether the run's terminal event ends the stream. */
  readonly endsWithRun: boolean
  /** Where the reader is in a run's log already. */
  readonly positions: ReadonlyMap<RunId, number>
}

/** A stalled reader that starts to read again in this time learns why it was closed; then the socket is destroyed. */
const CLOSE_WITHIN_MS = 3_000

export class EventSocket implements RunFollower {
  private readonly socket: WebSocket
  private readonly stream: Duplex
  private readonly source: LogSource
  private readonly now: () => number
  private readonly endsWithRun: boolean
  private readonly onDrain = () => this.drained()
  /** Last seq sent, by run. */
  private readonly positions: Map<RunId, number>
  /** Runs whose logs may hold more than was sent. */
  private readonly behind = new Set<RunId>()
  /** Runs that have grown while they were being read. */
  private readonly grown = new Set<RunId>()
  private listed = false
  private pumping = false
  /** Unix milliseconds since when the full socket takes nothing; `undefined` while it takes what it is given. */
  private blockedSince: number | undefined
  /** Bytes that waited for the kernel when that was last looked at. */
  private queued = 0
  private lastPing: number
  private ended = false
  /** Unix milliseconds since when a stalled reader is being closed. */
  private closingSince: number | undefined

  constructor(socket: WebSocket, stream: Duplex, source: LogSource, now: () => number, start: Start) {
    this.socket = socket
    this.stream = stream
    this.source = source
    this.now = now
    this.lastPing = now()
    this.endsWithRun = start.endsWithRun
    this.positions = new Map(start.positions)
    stream.on("drain", this.onDrain)
    socket.on("error", () => undefined)
  }

  waitsAfter(runId: RunId): number | undefined {
    return this.ended || this.blockedSince !== undefined || !this.listed || this.behind.has(runId)
      ? undefined
      : this.positionOf(runId)
  }

  told(batch: LogBatch): void {
    if (this.ended || batch.lastSeq <= this.positionOf(batch.runId)) return
    if (this.waitsAfter(batch.runId) === batch.firstSeq - 1) this.send(batch)
    else this.woken(batch.runId)
  }

  woken(runId: RunId): void {
    if (this.ended) return
    this.behind.add(runId)
    this.grown.add(runId)
    void this.pump()
  }

  /** Sends everything from where it stands, and follows. */
  wokenAll(): void {
    this.listed = false
    void this.pump()
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

  /** Sends nothing more. The socket is closed by whoever owns it. */
  release(): void {
    this.ended = true
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

  private positionOf(runId: RunId): number {
    return this.positions.get(runId) ?? 0
  }

  private drained(): void {
    this.blockedSince = undefined
    void this.pump()
  }

  private block(now: number): void {
    this.blockedSince = now
    this.queued = queuedOf(this.stream)
  }

  private get mayRead(): boolean {
    return !this.ended && this.blockedSince === undefined
  }

  /** Sends what the logs have after the positions, until it is all sent or the socket is full. Never runs twice at once. */
  private async pump(): Promise<void> {
    if (this.pumping || !this.mayRead) return
    this.pumping = true
    try {
      while (this.mayRead && (!this.listed || this.behind.size > 0)) {
        if (!this.listed) {
          this.listed = true
          for (const runId of await this.source.runs()) this.behind.add(runId)
        }
        for (const runId of this.behind) await this.catchUp(runId)
      }
    } catch {
      this.end(closeCodes.stalled, "the log cannot be read")
    } finally {
      this.pumping = false
    }
  }

  private async catchUp(runId: RunId): Promise<void> {
    while (this.mayRead) {
      this.grown.delete(runId)
      const batches = await this.source.read(runId, this.positionOf(runId))
      for (const batch of batches) {
        if (!this.mayRead) break
        // Logs are dense: a gap is what is kept no more.
        if (batch.firstSeq > this.positionOf(runId) + 1) return this.end(closeCodes.replayGap, "replay_gap")
        this.send(batch)
      }
      if (batches.length > 0 || this.grown.has(runId)) continue
      this.behind.delete(runId)
      return
    }
  }

  private send(batch: LogBatch): void {
    this.positions.set(batch.runId, batch.lastSeq)
    // Whole frames between the library's own whole frames: no extension is negotiated, so none is ever torn.
    if (!this.stream.write(framesOf(batch))) this.block(this.now())
    if (this.blockedSince !== undefined) this.behind.add(batch.runId)
    if (batch.terminal && this.endsWithRun) this.end(closeCodes.ended, "the run has ended")
  }
}
