/**
 * Any program that prints text, for tools without an adapter of their own: a command line, the prompt in it or on stdin, and what stdout
 * says as messages.
 *
 * It knows how the program ended and what it printed, and nothing of what it did: it asks nobody, so the Edge lets it run in
 * `full_access` alone. What only a terminal understands is taken out of the text.
 */
import { draft } from "@corral/domain/RunEvent"
import type {
  AdapterOutput,
  ProcessEnd,
  Protocol,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { defined } from "./Json.ts"
import { Lines, type Line } from "./Lines.ts"
import { Turn, unavailable } from "./Turn.ts"

/** What stands for the prompt in an argument. */
export const PROMPT = "{prompt}"

export interface TextOptions {
  readonly label: string
  /** Program, then arguments. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** `prompt`: the prompt is written to stdin, and stdin is closed. `none`: stdin is at its end from the start. */
  readonly stdin: "prompt" | "none"
  /** What to tell a person whose machine lacks the program. */
  readonly install: string
  readonly passEnv?: ReadonlyArray<string> | undefined
}

/** A message is closed at the first line end after this many characters, and the next line opens another. */
const MESSAGE_CHARACTERS = 60_000
const SAID_CHARACTERS = 500

/** Control characters but the tab. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B-\x1F\x7F]/g

/** A line as a terminal would leave it: without escapes, and of what overwrites itself the last. */
const plain = (text: string): string => {
  const line = stripVTControlCharacters(text)
  return line.slice(line.lastIndexOf("\r") + 1).replaceAll(CONTROL, "")
}

class TextProtocol implements Protocol {
  readonly open: string
  readonly #label: string
  readonly #lines = new Lines()
  readonly #turn = new Turn()
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
    this.#turn.start({})
    this.#close()
    if (end.code === 0) this.#turn.conclude({ _tag: "Completed", ...defined({ text: this.#last }) })
    else this.#fail(end)
    return [...outputs, ...this.#turn.take()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => undefined

  #read(lines: ReadonlyArray<Line>): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      this.#turn.start({})
      this.#number++
      if (line._tag !== "TooLong") this.#say(plain(line.text))
      else {
        const message = "A line of output is longer than the limit."
        const { bytes } = line
        this.#turn.say(draft("schema.validation_failed", { message, bytes, at: `line ${this.#number}` }))
      }
    }
    return this.#turn.take()
  }

  /** A line end belongs to the line after it, so that the last one is not said. */
  #say(line: string): void {
    if (this.#text === undefined) this.#message++
    const text = this.#text === undefined ? line : `\n${line}`
    this.#text = (this.#text ?? "") + text
    this.#turn.say(draft("run.message.delta", { messageId: this.#messageId, channel: "text", text }))
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
    this.#turn.say(draft("run.message.completed", { messageId, role, channel, text }))
  }

  /** In a generic program's words: the last thing it said on stderr. */
  #fail(end: ProcessEnd): void {
    const said = end.stderr
      .split("\n")
      .map((line) => plain(line).trim())
      .findLast((line) => line !== "")
    const how =
      end.signal === null ? `ended with exit code ${end.code ?? "unknown"}` : `was ended by ${end.signal}`
    const message = `${this.#label} ${how}${said === undefined ? "." : `: ${said.slice(0, SAID_CHARACTERS)}`}`
    const exit = defined({ exitCode: end.code ?? undefined, signal: end.signal ?? undefined })
    this.#turn.fail(unavailable(end.signal === null ? "exit_code" : "crashed", message, exit))
  }
}

/** The generic adapter over one command line. `{prompt}` in an argument becomes the run's prompt. */
export const makeText = ({ label, command, stdin, install, passEnv }: TextOptions): RuntimeAdapter => {
  const [program, ...args] = command
  return {
    specificationVersion: 1,
    id: "text",
    label,
    capabilities: {
      deltas: true,
      approvals: false,
      editInput: false,
      resume: false,
      readOnly: false,
      cancel: false,
      input: false
    },
    probe: { command: program, versionArgs: ["--version"], install },
    ...defined({ passEnv }),
    command: ({ prompt }) => ({
      file: program,
      args: args.map((arg) => arg.replaceAll(PROMPT, () => prompt)),
      stdin: stdin === "prompt" ? "once" : "ignore"
    }),
    protocol: ({ prompt }: RunStart) => new TextProtocol(label, stdin === "prompt" ? prompt : "")
  }
}
