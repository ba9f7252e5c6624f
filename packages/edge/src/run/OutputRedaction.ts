/**
 * Redaction of a runtime's outputs, directly before the run machine and the log.
 *
 * Guarantees: a secret that is split over pieces of one streamed message is found, unless another output comes in between. The end of a
 * piece that may begin a secret waits for the next piece of its message, or for any other output.
 *
 * Does not: change the content of artifacts. `Redaction` says what it does not find.
 */
import { Redaction } from "@corral/domain/redaction/Redaction"
import type { DraftOf } from "@corral/domain/run/RunEvent"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"

type Delta = DraftOf<"run.message.delta">

/** Maximum number of messages whose last piece waits. Beyond it, all of them are emitted. */
const MOST_WAITING = 8

export class OutputRedaction {
  readonly #redaction: Redaction
  /** The last piece of each message whose end waits; its text is that end. */
  readonly #waiting = new Map<string, Delta>()
  /** The end of what was shown of each streamed message, the last ones: the name of a secret may be there. */
  readonly #context = new Map<string, string>()
  readonly #kept = new Set<string>()

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
    return waiting.map((delta) =>
      this.#output(delta, this.#redaction.after(this.#context.get(keyOf(delta)) ?? "", delta.payload.text))
    )
  }

  #piece(delta: Delta, told: Array<AdapterOutput>): void {
    const key = keyOf(delta)
    const held = this.#waiting.get(key)?.payload.text
    const text = held === undefined ? delta.payload.text : held + delta.payload.text
    const { context, rest, shown } = this.#redaction.piece(this.#context.get(key) ?? "", text)
    if (rest.length < text.length || text === "") told.push(this.#output(delta, shown))
    this.#remember(key, context)
    if (rest === "") {
      if (held !== undefined) this.#waiting.delete(key)
      return
    }
    this.#waiting.set(key, { ...delta, payload: { ...delta.payload, text: rest } })
    if (this.#waiting.size > MOST_WAITING) told.push(...this.rest())
  }

  #remember(key: string, context: string): void {
    if (context === "") {
      if (this.#context.size > 0) this.#context.delete(key)
      return
    }
    if (this.#context.size >= MOST_WAITING && !this.#context.has(key)) this.#context.clear()
    this.#context.set(key, context)
  }

  #output(delta: Delta, text: string): AdapterOutput {
    const { payload } = delta
    const { messageId, parentCallId } = payload
    const same =
      text === payload.text &&
      this.#isKept(messageId) &&
      (parentCallId === undefined || this.#isKept(parentCallId))
    return {
      _tag: "Event",
      event: same
        ? delta
        : { ...delta, payload: { ...this.#redaction.value({ ...payload, text: "" }), text } }
    }
  }

  /** Whether an id has no secret in it. Those of one message come again and again. */
  #isKept(id: string): boolean {
    if (this.#kept.has(id)) return true
    const isKept = this.#redaction.text(id) === id
    if (this.#kept.size >= MOST_WAITING) this.#kept.clear()
    if (isKept) this.#kept.add(id)
    return isKept
  }
}

/** Text and reasoning of one message are streamed side by side. */
const keyOf = ({ payload: { channel, messageId } }: Delta): string => `${channel} ${messageId}`

const none: ReadonlyArray<AdapterOutput> = []

/** What stands in the log has its place after the text before it. */
const speaks = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Usage" && _tag !== "Reply" && _tag !== "Unknown"
