/**
 * Position of one subscriber in one log, and whether it is up to date.
 *
 * A cursor at the end of the log passes on each batch as it is appended. A cursor that is behind reads the log from its position, at the
 * pace of its reader, and costs no memory meanwhile.
 */
import { Effect } from "effect"
import { type LogBatch, type LogFollower, type LogSource, READ_BUDGET, type ReplayGap } from "./LogSource.ts"
import type { ReaderWindow } from "./ReaderWindow.ts"

/** Owner of cursors, with the place where batches go. */
export interface CursorReader<E> {
  /** Whether it can take a batch now. */
  readonly canSend: boolean
  readonly window?: ReaderWindow | undefined
  readonly send: (batch: LogBatch) => void
  /** The cursor is behind: reads it as soon as the reader can send. */
  readonly resume: (cursor: LogCursor<E>) => void
}

export class LogCursor<E> implements LogFollower {
  readonly source: LogSource<E>
  /** Position of the last batch that was sent. */
  position: number
  /** Whether the log may hold more than was sent. */
  isBehind: boolean
  private readonly reader: CursorReader<E>
  private hasGrown = false

  constructor(source: LogSource<E>, after: number, reader: CursorReader<E>) {
    this.source = source
    this.position = after
    this.isBehind = false
    this.reader = reader
  }

  get window(): ReaderWindow | undefined {
    return this.reader.window
  }

  /** Batches that follow. None: the cursor has reached the end of the log. */
  read(): Effect.Effect<ReadonlyArray<LogBatch>, E | ReplayGap> {
    this.hasGrown = false
    return Effect.map(this.source.read(this.position, READ_BUDGET), (batches) => {
      // Appends during the read may not be in it.
      if (batches.length === 0 && !this.hasGrown) this.isBehind = false
      return batches
    })
  }

  waitsAfter(): number | undefined {
    return this.isBehind || !this.reader.canSend ? undefined : this.position
  }

  receive(batch: LogBatch): void {
    if (batch.lastSeq <= this.position) return
    if (this.waitsAfter() === batch.firstSeq - 1) this.send(batch)
    else this.wake()
  }

  wake(): void {
    this.isBehind = true
    this.hasGrown = true
    this.reader.resume(this)
  }

  send(batch: LogBatch): void {
    this.position = batch.lastSeq
    this.reader.send(batch)
  }
}
