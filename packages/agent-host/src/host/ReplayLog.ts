/**
 * What one client was sent last, in order, so that it can continue after a lost connection.
 *
 * Guarantees: bounded in number and size; the oldest entries leave first. Numbers only grow.
 */
import type { ActionEnvelope } from "../protocol/Actions.ts"

interface Entry {
  readonly envelope: ActionEnvelope
  readonly size: number
}

export const MAX_ENTRIES = 4_096
export const MAX_BYTES = 4_194_304

export class ReplayLog {
  /** The last number that left the log, or the one before its first. */
  private dropped: number
  private last: number
  private bytes = 0
  private entries: Array<Entry | undefined> = []
  private first = 0

  constructor(start: number) {
    this.dropped = start
    this.last = start
  }

  /** Number of the newest entry. */
  get seq(): number {
    return this.last
  }

  next(): number {
    return ++this.last
  }

  add(envelope: ActionEnvelope, size: number): void {
    this.entries.push({ envelope, size })
    this.bytes += size
    while (this.entries.length - this.first > MAX_ENTRIES || this.bytes > MAX_BYTES) {
      const oldest = this.entries[this.first]
      if (oldest === undefined) break
      this.entries[this.first++] = undefined
      this.bytes -= oldest.size
      this.dropped = oldest.envelope.serverSeq
    }
    if (this.first > MAX_ENTRIES) {
      this.entries = this.entries.slice(this.first)
      this.first = 0
    }
  }

  /** Entries of these channels after a number. `undefined`: some of them have left, or the number is not of this log. */
  after(seq: number, channels: ReadonlySet<string>): ReadonlyArray<ActionEnvelope> | undefined {
    if (seq < this.dropped || seq > this.last) return undefined
    return this.entries
      .slice(this.first)
      .flatMap((entry) => entry?.envelope ?? [])
      .filter(({ channel, serverSeq }) => serverSeq > seq && channels.has(channel))
  }
}
