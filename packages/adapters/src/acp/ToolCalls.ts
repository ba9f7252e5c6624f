/**
 * The tool calls of a run: when each is said to have begun, and closed by its result.
 *
 * A call is reported once its input is known: with its first report that says so, when it is asked for, when it runs, at the latest when the agent turns
 * on to something else. A call that an agent never closes is closed here where it was denied, and by `Turn` at the end.
 */
import { defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesTouchedBy } from "./Changes.ts"
import { isClear, acpCallLabel } from "./Label.ts"
import {
  readExitCode,
  readFailedStatus,
  firstReport,
  mergeReport,
  readCallOutput,
  type ToolCall
} from "./ToolCall.ts"

/** Ids of calls that are over, to tell late reports from new calls; more of them are forgotten. */
const MAX_CLOSED = 10_000

interface Open {
  call: ToolCall
  told: boolean
  denied: boolean
}

export class ToolCalls {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #relative: Relative
  readonly #open = new Map<string, Open>()
  readonly #closed = new Set<string>()
  #cancelling = false

  constructor(collector: OutputCollector, agent: AcpAgent, relative: Relative) {
    this.#collector = collector
    this.#agent = agent
    this.#relative = relative
  }

  /** A call has no result: the model has not been called with it. */
  get isAnyOpen(): boolean {
    return this.#open.size > 0
  }

  /** A `tool_call` or `tool_call_update`; false where it names no call. */
  report(report: JsonObject): boolean {
    const callId = textOf(report["toolCallId"])
    if (callId === undefined) return false
    if (this.#closed.has(callId)) return true
    const open = this.#follow(callId, report)
    const { call } = open
    switch (call.status) {
      case "completed":
      case "failed":
        this.#close(open)
        break
      case "in_progress":
        if (isClear(call, this.#agent, this.#relative)) this.#tell(open)
        break
      default:
        // Some agents send the input whole with the call, others piece by piece after it.
        if (report["sessionUpdate"] === "tool_call" && isClear(call, this.#agent, this.#relative))
          this.#tell(open)
    }
    return true
  }

  /** The call that a permission is asked for, with what the request adds. A request may say less of the input than the reports before it. */
  asked(request: JsonObject): ToolCall | undefined {
    const callId = textOf(request["toolCallId"])
    if (callId === undefined || this.#closed.has(callId)) return undefined
    const known = this.#open.get(callId)?.call.input ?? {}
    const rawInput = { ...known, ...objectOf(request["rawInput"]) }
    const open = this.#follow(callId, { ...request, rawInput })
    this.#tell(open)
    return open.call
  }

  /** Its permission was denied: it will not run, whether the agent says so or not. */
  deny(callId: string): void {
    const open = this.#open.get(callId)
    if (open !== undefined) open.denied = true
  }

  /** A cancel was sent. */
  cancel(): void {
    this.#cancelling = true
  }

  /** The agent reports something else than a call. */
  settle(): void {
    if (this.#open.size === 0) return
    for (const open of this.#open.values()) this.#tell(open)
  }

  /** The agent speaks again, or its turn is over: what was denied is over too. */
  closeDenied(): void {
    if (this.#open.size === 0) return
    for (const open of this.#open.values()) if (open.denied) this.#close(open)
  }

  #follow(callId: string, report: JsonObject): Open {
    const known = this.#open.get(callId)
    if (known !== undefined) {
      known.call = mergeReport(known.call, report, this.#agent)
      return known
    }
    const open = { call: firstReport(callId, report, this.#agent), told: false, denied: false }
    this.#open.set(callId, open)
    return open
  }

  #tell(open: Open): void {
    if (open.told) return
    open.told = true
    const { callId, input, tool } = open.call
    const label = acpCallLabel(open.call, this.#agent, this.#relative)
    this.#collector.openCall({
      callId,
      tool,
      label,
      ...(Object.keys(input).length === 0 ? {} : { input })
    })
  }

  #close(open: Open): void {
    this.#tell(open)
    const { call, denied } = open
    this.#open.delete(call.callId)
    if (this.#closed.size >= MAX_CLOSED) this.#closed.clear()
    this.#closed.add(call.callId)
    const stopped = this.#stopped(call)
    const completed = call.status === "completed" && !stopped
    if (completed) for (const event of filesTouchedBy(call, this.#relative)) this.#collector.emitEvent(event)
    const status = completed
      ? "completed"
      : stopped
        ? "cancelled"
        : denied
          ? "denied"
          : readFailedStatus(call)
    // What was denied and never closed has no output: its content is what was asked.
    const output = call.status === "completed" || call.status === "failed" ? readCallOutput(call) : undefined
    this.#collector.closeCall(defined({ callId: call.callId, status, output, exitCode: readExitCode(call) }))
  }

  #stopped(call: ToolCall): boolean {
    const words = this.#agent.cancelsInWords
    return this.#cancelling && words !== undefined && words.test(readCallOutput(call) ?? "")
  }
}
