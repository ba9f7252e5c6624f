/**
 * Parser of `text/event-stream`. Returns `id` and `data` of each event, from pieces of text of any size.
 *
 * Guarantees: an event that spans pieces is parsed once it is complete. Buffered text is bounded by `MAX_BUFFERED`.
 * Does not: connect, decode bytes or interpret `data`.
 */
import { createParser } from "eventsource-parser"

export interface ServerSentEvent {
  readonly id: string | undefined
  readonly data: string
}

/** Limit of buffered text in characters. A longer event is dropped; the contract has no event of that size. */
export const MAX_BUFFERED = 4_194_304

export class ServerSentEventParser {
  private parsed: Array<ServerSentEvent> = []
  private hasOverflowed = false
  private readonly parser = createParser({
    maxBufferSize: MAX_BUFFERED,
    onEvent: ({ data, id }) => this.parsed.push({ id, data }),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") this.hasOverflowed = true
    }
  })

  /** Returns the events that this piece completes. */
  push(piece: string): ReadonlyArray<ServerSentEvent> {
    this.parser.feed(piece)
    if (this.hasOverflowed) {
      this.hasOverflowed = false
      this.parser.reset()
    }
    const { parsed } = this
    this.parsed = []
    return parsed
  }
}
