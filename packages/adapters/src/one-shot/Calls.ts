/**
 * Tool calls of a run with their inputs, so that a result can say which file was read or changed: these programs tell that in the call alone.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { defined, objectOf, type JsonObject } from "../text/Json.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { fileEventsOfCall, toolLabel } from "./Tools.ts"

interface Call {
  readonly tool: string
  readonly input: JsonObject
}

interface CallResult {
  readonly status: PayloadOf<"run.tool.result">["status"]
  readonly output?: string | undefined
  readonly exitCode?: number | undefined
}

export class Calls {
  readonly relative: Relative
  readonly #collector: OutputCollector
  readonly #open = new Map<string, Call>()

  constructor(collector: OutputCollector, workspacePath: string) {
    this.#collector = collector
    this.relative = relativeTo(workspacePath)
  }

  /** Opens a call. Without an id or a name it is none. */
  call(callId: string | undefined, tool: string | undefined, told: unknown, parentCallId?: string): void {
    if (callId === undefined || tool === undefined) return this.#collector.countUnknown("tool call")
    if (this.#collector.isOver || this.#open.has(callId)) return
    const input = objectOf(told)
    this.#open.set(callId, { tool, input })
    const label = toolLabel(tool, input, this.relative)
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId }))
  }

  get(callId: string): Call | undefined {
    return this.#open.get(callId)
  }

  /** Closes a call, after the files that it touched where it succeeded: those given, or what its input names. */
  result(callId: string | undefined, result: CallResult, files?: ReadonlyArray<AdapterEvent>): void {
    const call = callId === undefined ? undefined : this.#open.get(callId)
    if (callId === undefined || call === undefined) return this.#collector.countUnknown("tool result")
    this.#open.delete(callId)
    if (result.status === "completed") {
      for (const event of files ?? fileEventsOfCall(call.tool, call.input, callId, this.relative))
        this.#collector.emitEvent(event)
    }
    const { status, output, exitCode } = result
    this.#collector.closeCall(defined({ callId, status, output, exitCode }))
  }
}
