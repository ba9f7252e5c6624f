/**
 * Any program that prints text, for tools without an adapter of their own: a command line, the prompt in it or on stdin, and what stdout
 * says as messages.
 *
 * Does not: know what the program did, only what it printed and how it ended. It does not ask, so the Edge runs it in
 * `full_access` alone. What only a terminal understands is taken out of the text.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { commandLineAdapter, exitFailure, plain, type CommandLine } from "./CommandLine.ts"
import { defined } from "./text/Json.ts"
import { Lines, type Line } from "./text/Lines.ts"
import { OutputCollector } from "./output/OutputCollector.ts"

/** A message is closed at the first line end after this many characters, and the next line opens another. */
const MESSAGE_CHARACTERS = 60_000

class TextProtocol implements Protocol {
  readonly open: string
  readonly #label: string
  readonly #lines = new Lines()
  readonly #collector = new OutputCollector()
  #number = 0
  #message = 0
  /** The text of the open message; `undefined` where none is open. */
  #text: string | undefined
  #last: string | undefined

  constructor(label: string, open: string) {
    this.#label = label
    this.open = open
  }

  readonly step: Protocol["step"] = (chunk) => this.#read(this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    const outputs = this.#read(this.#lines.end())
    this.#collector.start({})
    this.#close()
    if (end.code === 0) this.#collector.conclude({ _tag: "Completed", ...defined({ text: this.#last }) })
    else this.#collector.fail(exitFailure(this.#label, end))
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<Line>): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      this.#collector.start({})
      this.#number++
      if (line._tag !== "TooLong") this.#say(plain(line.text))
      else {
        const message = "A line of output is longer than the limit."
        const { bytes } = line
        this.#collector.emitEvent(
          draft("schema.validation_failed", { message, bytes, at: `line ${this.#number}` })
        )
      }
    }
    return this.#collector.takeOutputs()
  }

  /** A line end belongs to the line after it, so that the last one is not said. */
  #say(line: string): void {
    if (this.#text === undefined) this.#message++
    const text = this.#text === undefined ? line : `\n${line}`
    this.#text = (this.#text ?? "") + text
    this.#collector.emitEvent(
      draft("run.message.delta", { messageId: this.#messageId, channel: "text", text })
    )
    if (this.#text.length > MESSAGE_CHARACTERS) this.#close()
  }

  get #messageId(): string {
    return `text-${this.#message}`
  }

  #close(): void {
    const text = this.#text
    if (text === undefined) return
    this.#text = undefined
    this.#last = text
    const { messageId, role, channel } = {
      messageId: this.#messageId,
      role: "assistant",
      channel: "text"
    } as const
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role, channel, text }))
  }
}

/** The generic adapter over one command line. `{prompt}` in an argument becomes the run's prompt. */
export const makeText = (options: CommandLine): RuntimeAdapter => ({
  ...commandLineAdapter("text", options),
  protocol: ({ prompt }) => new TextProtocol(options.label, options.stdin === "prompt" ? prompt : "")
})
