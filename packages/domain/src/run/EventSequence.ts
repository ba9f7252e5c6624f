/**
 * Reader of one run's event stream, the same in every client: frames in, decoded events out.
 *
 * Guarantees: events come out once and in order of `seq`. A jump of `seq` is reported as `MissingEvents`. A client that reconnects resumes
 * with `after=lastSeq`. Text that is not an envelope is ignored, as the contract requires.
 * Does not: connect, parse `text/event-stream` or retry. Each client owns its transport and its decoder.
 */
import type { KnownEvent, UnknownEvent } from "./RunEvent.ts"

/** Events `from` to `to` were not sent. */
export interface MissingEvents {
  readonly from: number
  readonly to: number
  /** Time of the event after the gap, ISO 8601. */
  readonly noticedAt: string
}

export type DecodedEvent = KnownEvent | UnknownEvent

export interface SequencedEvent {
  readonly decoded: DecodedEvent
  /** The gap before the event, if there is one. */
  readonly missing: MissingEvents | undefined
}

/** The envelope of a decoded event. */
export const envelopeOf = (decoded: DecodedEvent): KnownEvent["event"] | UnknownEvent["envelope"] =>
  decoded._tag === "KnownEvent" ? decoded.event : decoded.envelope

/** Ids that are compared with those of new events. */
const REMEMBERED_IDS = 2_048

export class EventSequence {
  /** The last `seq` that was received or skipped. */
  lastSeq: number
  private readonly decode: (input: unknown) => DecodedEvent | undefined
  private readonly ids = new Set<string>()

  /** `decode` returns `undefined` for input that is not an envelope. */
  constructor(decode: (input: unknown) => DecodedEvent | undefined, after = 0) {
    this.decode = decode
    this.lastSeq = after
  }

  /** The event in one frame of JSON text; `undefined` for a repeated event and for text that is not an envelope. */
  next(text: string): SequencedEvent | undefined {
    try {
      return this.nextOf(JSON.parse(text))
    } catch {
      return undefined
    }
  }

  /** The event in a parsed frame. */
  nextOf(input: unknown): SequencedEvent | undefined {
    const decoded = this.decode(input)
    if (decoded === undefined) return undefined
    const { createdAt, id, seq } = envelopeOf(decoded)
    if (seq <= this.lastSeq || this.ids.has(id)) return undefined
    const missing = this.skipTo(seq - 1, createdAt)
    this.lastSeq = seq
    this.ids.add(id)
    const [oldest] = this.ids.size > REMEMBERED_IDS ? this.ids : []
    if (oldest !== undefined) this.ids.delete(oldest)
    return { decoded, missing }
  }

  /** Gives up on events up to `to`, which the server no longer has. */
  skipTo(to: number, noticedAt: string): MissingEvents | undefined {
    if (to <= this.lastSeq) return undefined
    const from = this.lastSeq + 1
    this.lastSeq = to
    return { from, to, noticedAt }
  }
}
