/**
 * Time of another machine's clock, estimated from its answers: what it said, plus the monotonic time since.
 *
 * Guarantees: independent of this machine's clock, also of one that is set meanwhile. A sample is as exact as half of its round trip; a slow one
 * replaces a better one only if the two contradict each other.
 */

/** A sample that takes no longer is always used, so that the estimate follows a clock that drifts. */
const QUICK_MS = 20

/** `sentAt` and `receivedAt` are monotonic times of this machine, `remote` is the Unix time that the other one said in between. */
export interface ClockSample {
  readonly sentAt: number
  readonly receivedAt: number
  readonly remote: number
}

export class ClockOffset {
  /** Unix time of the other machine at the monotonic time 0. */
  private offset: number | undefined

  note({ receivedAt, remote, sentAt }: ClockSample): void {
    const uncertainty = (receivedAt - sentAt) / 2
    const offset = remote - (sentAt + receivedAt) / 2
    const agrees = this.offset !== undefined && Math.abs(offset - this.offset) <= uncertainty
    if (!agrees || uncertainty * 2 <= QUICK_MS) this.offset = offset
  }

  /** The other machine's time at that monotonic time; `undefined` before the first sample. */
  at(monotonic: number): number | undefined {
    return this.offset === undefined ? undefined : this.offset + monotonic
  }
}
