/**
 * Redaction of a runtime's outputs, directly before the run machine and the log.
 *
 * Guarantees: a secret that is split over pieces of one streamed message is found, unless another output comes in between. The end of a
 * piece that may begin a secret waits for the next piece of its message, or for any other output.
 *
 * Does not: change the content of artifacts. `Redaction` documents the secrets that it does not find.
 */
import { Redaction } from "@corral/redaction/Redaction"
import type { DraftOf } from "@corral/domain/run/RunEvent"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"

type Delta = DraftOf<"run.message.delta">

/** Maximum number of messages with a held piece. Above it, all held pieces are emitted. */
const MOST_WAITING = 8

export class OutputRedaction {
  readonly #values: Set<string>
  #redaction: Redaction
  /** From the first piece on: most runs wait long before they stream. */
  #streamed: StreamedText | undefined

  /** `values` are secret everywhere. */
  constructor(values: Iterable<string>) {
    this.#values = new Set(values)
    this.#redaction = new Redaction(this.#values)
  }

  /** Values that are secret everywhere. */
  get values(): ReadonlySet<string> {
    return this.#values
  }

  /** Further values are secret from now on. */
  learn(values: ReadonlyArray<string>): void {
    if (values.length === 0) return
    for (const value of values) this.#values.add(value)
    this.#redaction = new Redaction(this.#values)
    this.#streamed?.replaceRedaction(this.#redaction)
  }

  /** A value without secrets; the same reference if it has none. */
  value<A>(value: A): A {
    return this.#redaction.value(value)
  }

  /** Redacts streamed text across its pieces. Other outputs stay unchanged and in order. */
  redactStream(outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> {
    const emitted: Array<AdapterOutput> = []
    for (const output of outputs) {
      if (output._tag === "Event" && output.event.type === "run.message.delta")
        (this.#streamed ??= new StreamedText(this.#redaction)).piece(output.event, emitted)
      else {
        if (isLogged(output)) emitted.push(...this.flush())
        emitted.push(output)
      }
    }
    return emitted
  }

  /** Emits all held text at the end of the output. */
  flush(): ReadonlyArray<AdapterOutput> {
    return this.#streamed?.flush() ?? none
  }
}

/** Pieces of streamed messages, with what is held of them. */
class StreamedText {
  #redaction: Redaction
  /** Held end of each message, as a piece. */
  readonly #waiting = new Map<string, Delta>()
  /** Last emitted text of recent messages. It may contain the name of a secret. */
  readonly #context = new Map<string, string>()
  readonly #checkedIds = new Set<string>()
  /** The message of the last piece, because the next piece is usually of the same. */
  #last = { channel: "", messageId: "", key: "" }

  constructor(redaction: Redaction) {
    this.#redaction = redaction
  }

  replaceRedaction(redaction: Redaction): void {
    this.#redaction = redaction
    this.#checkedIds.clear()
  }

  flush(): ReadonlyArray<AdapterOutput> {
    if (this.#waiting.size === 0) return none
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    return waiting.map((delta) =>
      this.#output(
        delta,
        this.#redaction.after(this.#context.get(this.#keyOf(delta)) ?? "", delta.payload.text)
      )
    )
  }

  piece(delta: Delta, emitted: Array<AdapterOutput>): void {
    const key = this.#keyOf(delta)
    const held = this.#waiting.get(key)?.payload.text
    const text = held === undefined ? delta.payload.text : held + delta.payload.text
    const { context, rest, shown } = this.#redaction.piece(this.#context.get(key) ?? "", text)
    if (rest.length < text.length || text === "") emitted.push(this.#output(delta, shown))
    this.#remember(key, context)
    if (rest === "") {
      if (held !== undefined) this.#waiting.delete(key)
      return
    }
    this.#waiting.set(key, { ...delta, payload: { ...delta.payload, text: rest } })
    if (this.#waiting.size > MOST_WAITING) emitted.push(...this.flush())
  }

  /** Text and reasoning of one message are separate streams. */
  #keyOf({ payload: { channel, messageId } }: Delta): string {
    const last = this.#last
    if (last.messageId === messageId && last.channel === channel) return last.key
    this.#last = { channel, messageId, key: `${channel} ${messageId}` }
    return this.#last.key
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
      this.#isWithoutSecret(messageId) &&
      (parentCallId === undefined || this.#isWithoutSecret(parentCallId))
    return {
      _tag: "Event",
      event: same
        ? delta
        : { ...delta, payload: { ...this.#redaction.value({ ...payload, text: "" }), text } }
    }
  }

  /** Whether an id contains no secret. Cached, because the pieces of one message repeat its id. */
  #isWithoutSecret(id: string): boolean {
    if (this.#checkedIds.has(id)) return true
    const isKept = this.#redaction.text(id) === id
    if (this.#checkedIds.size >= MOST_WAITING) this.#checkedIds.clear()
    if (isKept) this.#checkedIds.add(id)
    return isKept
  }
}

const none: ReadonlyArray<AdapterOutput> = []

/** Whether an output appears in the log, so that earlier text must be emitted before it. */
const isLogged = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Usage" && _tag !== "Reply" && _tag !== "Unknown"
