/**
 * Protocol of a program that reads one prompt, prints JSON lines and exits. It supports no approvals and no further input, and signals
 * cancel it. A `Reader` interprets its lines. A program that prints pieces of text has no completed messages: one ends when a piece of another channel
 * or any other line follows.
 *
 * Also the failures of such programs: a reason for each kind, and a sentence for the user who can act on it. They report the response of a model
 * service as text, most with the HTTP status at a fixed position. Only these positions are searched for a status.
 */
import type { RunFailure } from "@corral/domain/run/Run"
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import type {
  AdapterOutput,
  Capabilities,
  ProcessEnd,
  Protocol,
  RunStart
} from "@corral/domain/run/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { OutputCollector, runtimeFailure } from "../output/OutputCollector.ts"
import { reasonOfStatus } from "../output/ServiceFailure.ts"
import { endingOf } from "../text/FirstLine.ts"
import type { JsonObject } from "../text/Json.ts"
import { type JsonLine, JsonLines } from "../text/JsonLines.ts"

/** Parts of sentences about a program. */
export interface ProgramInfo {
  /** Name of the program. */
  readonly label: string
  /** Sentence that says how to sign in. */
  readonly signIn: string
}

const sentences = {
  not_signed_in: ({ label, signIn }: ProgramInfo) => `${label} is not signed in. ${signIn}`,
  bad_credentials: ({ label, signIn }: ProgramInfo) => `${label}'s credentials were refused. ${signIn}`,
  rate_limited: () =>
    "The model service refused the request because of its rate limit. Wait a moment, then start the run again.",
  overloaded: () => "The model service is overloaded. Try again in a moment.",
  server_error: () => "The model service failed. Try again in a moment.",
  request_refused: () => "The model service refused the request.",
  unreachable: ({ label }: ProgramInfo) =>
    `${label} could not reach the model service. Check the network, proxy and base URL.`,
  connection_lost: () => "Lost the connection to the model service. Start the run again.",
  unknown_session: ({ label }: ProgramInfo) =>
    `${label} can't find the conversation to resume. Start a new run instead.`,
  untrusted_folder: ({ label }: ProgramInfo) => `${label} does not trust this folder. Trust it there first.`,
  needs_permission: ({ label }: ProgramInfo) =>
    `${label} stopped because it needed a permission that can't be given in this mode.`,
  bad_option: ({ label }: ProgramInfo) =>
    `${label} refused its start options. Check its version and configuration.`,
  output_limit: () =>
    "The answer reached the output limit of the model and is incomplete. Send a further message to continue.",
  turn_limit: ({ label }: ProgramInfo) => `${label} reached its turn limit.`,
  command_missing: ({ label }: ProgramInfo) =>
    `${label} was not found on this machine. Install it, or correct its path.`,
  runtime_error: ({ label }: ProgramInfo) => `${label} failed.`
} satisfies Record<string, (program: ProgramInfo) => string>

export type Reason = keyof typeof sentences

const MAX_DETAIL = 1_000

/** Failure with a reason. `said` is the program's own text about it. */
export const toProgramFailure = (
  program: ProgramInfo,
  reason: Reason,
  message: string,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => {
  const text = endingOf(stripVTControlCharacters(message).trim(), MAX_DETAIL)
  return runtimeFailure(reason, sentences[reason](program), {
    ...details,
    ...(text === "" ? {} : { said: text })
  })
}

/** HTTP status in `429 rate limited`, `[API Error: 401 …]` or `{"error":{"code":400,…`. */
const statusIn = (text: string): number | undefined => {
  const found = /^(?:\[API Error: )?([45]\d\d)\b|"(?:code|status|statusCode)":\s*([45]\d\d)\b/.exec(text)
  const status = found?.[1] ?? found?.[2]
  return status === undefined ? undefined : Number(status)
}

/** Failure from a program's text about a failed request to a model service. */
export const serviceFailure = (program: ProgramInfo, text: string, reportedStatus?: number): RunFailure => {
  const status = reportedStatus ?? statusIn(text)
  if (status !== undefined) return toProgramFailure(program, reasonOfStatus(status), text, { status })
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|fetch failed|[Cc]onnection (?:error|refused)/.test(text))
    return toProgramFailure(program, "unreachable", text)
  if (/\bterminated\b|other side closed|unexpected EOF|ECONNRESET|socket hang up/.test(text))
    return toProgramFailure(program, "connection_lost", text)
  return toProgramFailure(program, "runtime_error", text)
}

/** Why the program did not start; `undefined` if it did. */
export const startFailure = ({ code, signal, stderr }: ProcessEnd): Reason | undefined =>
  code === null && signal === null && /\b(?:ENOENT|EACCES)\b/.test(stderr) ? "command_missing" : undefined

type Channel = PayloadOf<"run.message.delta">["channel"]

/** Maximum length of a message. The next piece starts another, so that memory is bounded. */
const MESSAGE_CHARACTERS = 1_000_000

/** Messages of pieces. One ends when a piece of another channel or any other line follows. */
export class StreamedText {
  readonly #collector: OutputCollector
  #number = 0
  #open: { readonly messageId: string; readonly channel: Channel; text: string } | undefined
  #lastText: string | undefined

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The last completed message with text. */
  get last(): string | undefined {
    return this.#lastText
  }

  piece(channel: Channel, text: string): void {
    if (text === "") return
    if (this.#open !== undefined && this.#open.channel !== channel) this.close()
    this.#open ??= { messageId: this.#nextId(), channel, text: "" }
    this.#open.text += text
    this.#collector.emitEvent(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MESSAGE_CHARACTERS) this.close()
  }

  /** Adds a whole message. It completes the open message if both have the same text. */
  whole(channel: Channel, text: string, messageId?: string): void {
    const streamed = this.#open
    this.close()
    if (streamed?.channel === channel && streamed.text === text) return
    this.#complete(messageId ?? this.#nextId(), channel, text)
  }

  close(): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.#complete(open.messageId, open.channel, open.text)
  }

  #nextId(): string {
    this.#number++
    return `message-${this.#number}`
  }

  #complete(messageId: string, channel: Channel, text: string): void {
    if (channel === "text") this.#lastText = text
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }
}

/** Reader of one program's lines. It reports to the collector that it was created with. */
export interface Reader {
  /** Reads one line. Never throws. */
  readonly onLine: (line: JsonObject) => void
  /** Called when the process has ended without an outcome. Concludes the turn if `end` or earlier lines have one. */
  readonly onEnd: (end: ProcessEnd) => void
}

export class OneShotProtocol implements Protocol {
  readonly open: string
  readonly #program: ProgramInfo
  readonly #collector = new OutputCollector()
  readonly #lines = new JsonLines()
  readonly #reader: Reader

  constructor(program: ProgramInfo, reader: (collector: OutputCollector) => Reader, open = "") {
    this.open = open
    this.#program = program
    this.#reader = reader(this.#collector)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const reason = startFailure(end)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#program, reason, end.stderr))
    // Truncated output may have lost the lines that decide.
    else if (!this.#collector.isOver && !this.#collector.isCut) this.#reader.onEnd(end)
    this.#collector.concludeAtExit(this.#program.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (line) => this.#reader.onLine(line))
  }
}

/** Whether such a program may change something: with full access, or where the Edge limits what it changes. */
export const mayChange = ({ isConfined = false, mode }: Pick<RunStart, "isConfined" | "mode">): boolean =>
  mode === "full_access" || (isConfined && mode !== "read_only" && mode !== "plan")

/**
 * Capabilities of such a program. Without approvals it runs in `full_access`, in read-only modes that it enforces itself, and where
 * the Edge confines it.
 */
export const oneShotCapabilities = (supported: Partial<Capabilities>): Capabilities => ({
  deltas: true,
  approvals: false,
  editInput: false,
  resume: false,
  readOnly: false,
  cancel: false,
  input: false,
  ...supported
})

/** A prompt as an argument that is neither an option nor a file to include. */
export const toArgument = (prompt: string): string => (/^[-@]/.test(prompt) ? ` ${prompt}` : prompt)

/** A conversation id that is safe in a command line: not an option and not a path. */
export const readSessionId = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined
