/**
 * Generic adapter for any program that prints text. Its stdout becomes messages, without escape sequences for terminals.
 *
 * Does not: report what the program did, or request permissions. The Edge runs it in `full_access` only.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { commandLineAdapter, exitFailure, lastVisibleLine, type CommandLine } from "./CommandLine.ts"
import { defined } from "./text/Json.ts"
import { Lines, type Line } from "./text/Lines.ts"
import { OutputCollector } from "./output/OutputCollector.ts"

/** A message ends at the first line end after this many characters. The next line starts another. */
const MESSAGE_CHARACTERS = 60_000

class TextProtocol implements Protocol {
  readonly open: string
  readonly #label: string
  readonly #lines = new Lines()
  readonly #collector = new OutputCollector()
  #number = 0
  #message = 0
  /** Text of the open message; `undefined` if none is open. */
  #text: string | undefined
  #lastMessage: string | undefined

  constructor(label: string, open: string) {
    this.#label = label
    this.open = open
  }

  readonly step: Protocol["step"] = (chunk) => this.#readLines(this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    const outputs = this.#readLines(this.#lines.end())
    this.#collector.start({})
    this.#close()
    if (end.code === 0)
      this.#collector.conclude({ _tag: "Completed", ...defined({ text: this.#lastMessage }) })
    else this.#collector.fail(exitFailure(this.#label, end))
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #readLines(lines: ReadonlyArray<Line>): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      this.#collector.start({})
      this.#number++
      if (line._tag !== "TooLong") this.#emitText(lastVisibleLine(line.text))
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

  /** Emits a line with the line end before it, so that a message does not end with one. */
  #emitText(line: string): void {
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
    this.#lastMessage = text
    const { messageId, role, channel } = {
      messageId: this.#messageId,
      role: "assistant",
      channel: "text"
    } as const
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role, channel, text }))
  }
}

/** Generic adapter for a command line. `{prompt}` in an argument becomes the run's prompt. */
export const makeText = (options: CommandLine): RuntimeAdapter => ({
  ...commandLineAdapter("text", options),
  protocol: ({ prompt }) => new TextProtocol(options.label, options.stdin === "prompt" ? prompt : "")
})
