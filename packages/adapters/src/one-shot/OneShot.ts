/**
 * Protocol of a program that reads one prompt, prints JSON lines and exits. It supports no approvals and no further input, and signals
 * cancel it. A `Reader` interprets its lines.
 */
import type {
  AdapterOutput,
  Capabilities,
  ProcessEnd,
  Protocol,
  RunStart
} from "@corral/domain/run/RuntimeAdapter"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import type { JsonObject } from "../text/Json.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toProgramFailure, startFailure, type ProgramInfo } from "./Failure.ts"

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
