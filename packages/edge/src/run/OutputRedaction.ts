/**
 * What a runtime says, without secrets: the last thing that happens to it before the run machine and the log.
 *
 * Streamed text is told apart at its seams: the end of a piece that may be the beginning of a secret waits for the next piece of its message, or
 * for whatever else is said. So a secret that is cut over pieces of one message is found, unless something else comes in between.
 * The content of artifacts stays as it is; `Redaction` says what it does not find.
 */
import { Redaction } from "@corral/domain/Redaction"
import type { DraftOf } from "@corral/domain/RunEvent"
import type { AdapterOutput } from "@corral/domain/RuntimeAdapter"

type Delta = DraftOf<"run.message.delta">

/** So many messages may wait for their next piece; then all of them are told. */
const MOST_WAITING = 8

export class OutputRedaction {
  readonly #redaction: Redaction
  /** The last piece of each message whose end waits; its text is that end. */
  readonly #waiting = new Map<string, Delta>()

  /** `values` are secret wherever they stand. */
  constructor(values: Iterable<string>) {
    this.#redaction = new Redaction(values)
  }

  /** A value without secrets; the very same where it has none. */
  value<A>(value: A): A {
    return this.#redaction.value(value)
  }

  /** The outputs with streamed text told apart at its seams. The rest is as it was, in its order. */
  seams(outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> {
    const told: Array<AdapterOutput> = []
    for (const output of outputs) {
      if (output._tag === "Event" && output.event.type === "run.message.delta")
        this.#piece(output.event, told)
      else {
        if (speaks(output)) told.push(...this.rest())
        told.push(output)
      }
    }
    return told
  }

  /** What still waits: nothing comes after it. */
  rest(): ReadonlyArray<AdapterOutput> {
    if (this.#waiting.size === 0) return none
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    return waiting.map((delta) => this.#output(delta, delta.payload.text))
  }

  #piece(delta: Delta, told: Array<AdapterOutput>): void {
    const { channel, messageId } = delta.payload
    const key = `${channel} ${messageId}`
    const text = (this.#waiting.get(key)?.payload.text ?? "") + delta.payload.text
    const place = this.#redaction.unfinished(text)
    if (place > 0 || text === "") told.push(this.#output(delta, text.slice(0, place)))
    if (place === text.length) {
      this.#waiting.delete(key)
      return
    }
    this.#waiting.set(key, { ...delta, payload: { ...delta.payload, text: text.slice(place) } })
    if (this.#waiting.size > MOST_WAITING) told.push(...this.rest())
  }

  #output(delta: Delta, text: string): AdapterOutput {
    const { payload } = delta
    const { messageId, parentCallId } = payload
    const same =
      text === payload.text &&
      [text, messageId, parentCallId ?? ""].every((told) => this.#redaction.text(told) === told)
    return {
      _tag: "Event",
      event: same ? delta : { ...delta, payload: this.#redaction.value({ ...payload, text }) }
    }
  }
}

const none: ReadonlyArray<AdapterOutput> = []

/** What stands in the log has its place after the text before it. */
const speaks = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Usage" && _tag !== "Reply" && _tag !== "Unknown"
