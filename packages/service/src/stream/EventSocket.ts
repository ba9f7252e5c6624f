/**
 * WebSocket of one event stream subscriber, with its cursors. Plain synchronous code while the subscriber is up to date.
 *
 * Guarantees: every event of a log once and in order. An up-to-date subscriber receives frames that are encoded once for all of them. A
 * slow reader blocks no other reader and costs no memory: its cursors continue when the socket drains. A reader that takes nothing from
 * a full socket for `stalledAfterMs` is closed with 1013. A reader of a paced log has a window, which holds nothing back that is sent.
 *
 * Does not: decide who may read. Progress of a slow reader is visible only as far as the kernel shows it: the kernel buffers some
 * megabytes and asks for more when about a third has been read.
 */
import { closeCodes } from "@corral/domain/http/StreamEnd"
import { Cause, type Context, Effect, Exit, type Fiber } from "effect"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import { LogCursor, type CursorReader } from "./LogCursor.ts"
import { framesOf, pingFrame } from "./Frames.ts"
import { type LogBatch, type LogSource, ReplayGap, type SocketClose, type Start } from "./LogSource.ts"
import { READER_WINDOW, ReaderWindow } from "./ReaderWindow.ts"
import type { StreamTimesOptions } from "./StreamTimes.ts"
import { queuedOf } from "../http/StalledResponses.ts"

/** A stalled reader that reads again within this time receives the close code; then the socket is destroyed. */
const CLOSE_WITHIN_MS = 3_000
/** Time after which a revoked socket is destroyed. */
const REVOKE_WITHIN_MS = 800

/** Reads of logs for the sockets of a server. */
export class LogReads {
  private readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

  constructor(services: Context.Context<never>) {
    this.fork = Effect.runForkWith(services)
  }

  /** Runs a read. One that can finish synchronously does so. */
  run<A, E>(read: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return this.fork(read)
  }

  /** Reports a read that failed with a defect. */
  report(cause: Cause.Cause<unknown>): void {
    this.fork(Effect.logError("failed to read a log for an event stream", cause))
  }
}

/** One subscriber's connection. */
export interface StreamConnection {
  readonly socket: WebSocket
  readonly stream: Duplex
  /** Whether a run's terminal event ends the stream. */
  readonly endsWithRun: boolean
}

export class EventSocket<E> implements CursorReader<E> {
  /** Only of a paced log, once half a window was sent: most readers receive less. */
  window: ReaderWindow | undefined
  private readonly now: () => number
  private readonly reads: LogReads
  private readonly socket: WebSocket
  private readonly stream: Duplex
  private readonly endsWithRun: boolean
  private readonly onDrain = () => this.drained()
  private onRelease: () => void = doNothing
  /** Cursors that are behind, in the order in which they are read. `undefined` while none is: most sockets are up to date. */
  private behind: Set<LogCursor<E>> | undefined
  private isReading = false
  /** Unix milliseconds since when the full socket takes nothing; `undefined` while it is not full. */
  private blockedSince: number | undefined
  /** Bytes that waited for the kernel at the last look. */
  private queued = 0
  private lastPing: number
  private hasEnded = false
  private isPaced = false
  /** Bytes that were sent before there is a window. */
  private unmeasured = 0
  /** Unix milliseconds since when a stalled reader is being closed. */
  private closingSince: number | undefined

  constructor(now: () => number, reads: LogReads, { endsWithRun, socket, stream }: StreamConnection) {
    this.now = now
    this.reads = reads
    this.socket = socket
    this.stream = stream
    this.endsWithRun = endsWithRun
    this.lastPing = now()
    stream.on("drain", this.onDrain)
    socket.on("error", doNothing)
  }

  /** Sends the log after a position, then what is appended to it. */
  follow(source: LogSource<E>, { after, isOver }: Start): void {
    if (isOver) return this.endWith(ENDED)
    if (source.hasDropped(after)) return this.endWith(GAP)
    this.isPaced = source.isPaced === true
    const cursor = this.cursorOf(source, after)
    this.releaseWith(source.follow(cursor))
    cursor.wake()
  }

  /** A cursor of this socket that its caller wakes. */
  cursorOf(source: LogSource<E>, after: number): LogCursor<E> {
    return new LogCursor(source, after, this)
  }

  /** Calls the function when the stream ends, or now if it has. */
  releaseWith(release: () => void): void {
    if (this.hasEnded) return release()
    const earlier = this.onRelease
    this.onRelease = earlier === doNothing ? release : () => (earlier(), release())
  }

  get canSend(): boolean {
    return !this.hasEnded && this.blockedSince === undefined
  }

  send(batch: LogBatch): void {
    if (this.hasEnded) return
    const frames = framesOf(batch)
    const position = this.isPaced ? this.measure(frames.length) : undefined
    if (!this.write(frames, position)) this.block(this.now())
    if (batch.terminal && this.endsWithRun) this.endWith(ENDED)
  }

  resume(cursor: LogCursor<E>): void {
    this.behind ??= new Set()
    this.behind.add(cursor)
    this.pump()
  }

  /** Sends pings and closes a stalled reader. Called every second. */
  tick({ pingEveryMs, stalledAfterMs }: StreamTimesOptions): void {
    const now = this.now()
    if (this.closingSince !== undefined && now - this.closingSince >= CLOSE_WITHIN_MS) this.socket.terminate()
    if (this.hasEnded) return
    if (this.blockedSince !== undefined && this.queued !== queuedOf(this.stream)) this.block(now)
    if (this.blockedSince !== undefined && now - this.blockedSince > stalledAfterMs) {
      this.closingSince = now
      this.end(closeCodes.stalled, "the reader stalled")
    } else if (now - this.lastPing > pingEveryMs) {
      this.lastPing = now
      if (this.blockedSince === undefined) this.socket.ping()
    }
  }

  /** Stops sending. The owner closes the socket. */
  release(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.stream.off("drain", this.onDrain)
    this.behind = undefined
    this.onRelease()
  }

  terminate(): void {
    this.release()
    this.socket.terminate()
  }

  end(code: number, reason: string): void {
    if (this.hasEnded) return
    this.release()
    this.socket.close(code, reason)
  }

  /** Ends the stream of a reader that lost access, within a second even if the reader does not respond. */
  revoke(code: number, reason: string): void {
    this.end(code, reason)
    setTimeout(() => this.terminate(), REVOKE_WITHIN_MS).unref()
  }

  /**
   * Whole frames between the library's own whole frames: without extensions, no frame is split. A corked stream would say that it is full, and the
   * reader would read from the log what it can be handed.
   */
  private write(frames: Buffer, position: Buffer | undefined): boolean {
    const accepts = this.stream.write(frames)
    return position === undefined ? accepts : this.stream.write(pingFrame(position))
  }

  /** Counts bytes that are sent. Returns the position that the reader must confirm after them, if any. */
  private measure(bytes: number): Buffer | undefined {
    if (this.window !== undefined) return this.window.count(bytes)
    this.unmeasured += bytes
    if (this.unmeasured < READER_WINDOW / 2) return undefined
    const window = new ReaderWindow(this.now)
    this.socket.on("pong", (payload: Buffer) => window.confirm(payload))
    this.window = window
    return window.count(this.unmeasured)
  }

  private endWith({ code, reason }: SocketClose): void {
    this.end(code, reason)
  }

  private drained(): void {
    this.blockedSince = undefined
    this.pump()
  }

  private block(now: number): void {
    this.blockedSince = now
    this.queued = queuedOf(this.stream)
  }

  /** Reads the cursors that are behind, one at a time, until all are up to date or the socket is full. */
  private pump(): void {
    while (!this.isReading && this.canSend) {
      const cursor = this.behind?.values().next().value
      if (cursor === undefined) return
      this.isReading = true
      const fiber = this.reads.run(cursor.read())
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) this.finish(cursor, exit)
      else
        fiber.addObserver((exit) => {
          this.finish(cursor, exit)
          this.pump()
        })
    }
  }

  private finish(cursor: LogCursor<E>, exit: Exit.Exit<ReadonlyArray<LogBatch>, E | ReplayGap>): void {
    this.isReading = false
    if (Exit.isFailure(exit)) return this.fail(cursor.source, exit.cause)
    for (const batch of exit.value) {
      if (!this.canSend) return
      cursor.send(batch)
    }
    if (!cursor.isBehind) this.caughtUp(cursor)
  }

  private caughtUp(cursor: LogCursor<E>): void {
    this.behind?.delete(cursor)
    if (this.behind?.size === 0) this.behind = undefined
  }

  private fail(source: LogSource<E>, cause: Cause.Cause<E | ReplayGap>): void {
    const failure = cause.reasons.find(Cause.isFailReason)
    if (failure === undefined) this.reads.report(cause)
    this.endWith(closeFor(source, failure?.error))
  }
}

const doNothing = (): void => undefined

const ENDED: SocketClose = { code: closeCodes.ended, reason: "the run has ended" }
const GAP: SocketClose = { code: closeCodes.replayGap, reason: "replay_gap" }
/** The reader may try again. */
const UNREADABLE: SocketClose = { code: closeCodes.stalled, reason: "the log cannot be read" }

const closeFor = <E>(source: LogSource<E>, error: E | ReplayGap | undefined): SocketClose => {
  if (error === undefined) return UNREADABLE
  return error instanceof ReplayGap ? GAP : source.closeFor(error)
}
