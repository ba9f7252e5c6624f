/**
 * Protocol of a program that takes one prompt, prints JSON lines and exits. It takes no answers and no further input. It is cancelled by
 * signals. What its lines mean is its reader's; this keeps the order of reading and of ending.
 */
import type { AdapterOutput, Capabilities, ProcessEnd, Protocol } from "@corral/domain/run/RuntimeAdapter"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import type { JsonObject } from "../text/Json.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toProgramFailure, startFailure, type ProgramInfo } from "./Failure.ts"

/** Reader of one program's lines. It reports to the collector that it was made with. */
export interface Reader {
  readonly onLine: (line: JsonObject) => void
  /** The process is gone and no line told an outcome: concludes the turn where the rest tells one. */
  readonly onEnd: (end: ProcessEnd) => void
}

export class OneShotProtocol implements Protocol {
  readonly open: string
  readonly #words: ProgramInfo
  readonly #collector = new OutputCollector()
  readonly #lines = new JsonLines()
  readonly #reader: Reader

  constructor(words: ProgramInfo, reader: (collector: OutputCollector) => Reader, open = "") {
    this.open = open
    this.#words = words
    this.#reader = reader(this.#collector)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const reason = startFailure(end)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#words, reason, end.stderr))
    // An output that was cut may have lost what it would be judged by.
    else if (!this.#collector.isOver && !this.#collector.isCut) this.#reader.onEnd(end)
    this.#collector.concludeAtExit(this.#words.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#reader.onLine(said))
  }
}

/** Maximum capabilities of such a program. It does not ask, so it runs in `full_access` and in the modes that it can lock. */
export const oneShotCapabilities = (own: Partial<Capabilities>): Capabilities => ({
  deltas: true,
  approvals: false,
  editInput: false,
  resume: false,
  readOnly: false,
  cancel: false,
  input: false,
  ...own
})

/** A prompt as an argument that is no option and names no file to include, whatever it starts with. */
export const toArgument = (prompt: string): string => (/^[-@]/.test(prompt) ? ` ${prompt}` : prompt)

/** A conversation id that may stand in a command line: never an option, never a path. */
export const readSessionId = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined
