/** The text of an event stream, in pieces as they arrive, read into envelopes. What is no envelope is passed over. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { isEnvelope } from "./knownEvent.ts"

/** More than any event of the contract: what is longer is none. */
const LONGEST = 4_194_304

export class EventStreamText {
  private rest = ""

  /** The events that end in this piece. */
  push(piece: string): Array<Envelope> {
    const events: Array<Envelope> = []
    // Only the new piece is searched: a long line may come in many.
    let from = 0
    for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", from)) {
      const line = this.rest + piece.slice(from, end)
      this.rest = ""
      from = end + 1
      if (!line.startsWith("data:")) continue
      const event = parsed(line.slice(5))
      if (isEnvelope(event)) events.push(event)
    }
    this.rest += piece.slice(from)
    if (this.rest.length > LONGEST) this.rest = ""
    return events
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
