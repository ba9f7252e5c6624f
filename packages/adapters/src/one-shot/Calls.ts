/**
 * Open tool calls of a run with their inputs. These programs name the file in the call only, so its result needs the input.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { defined, objectOf, type JsonObject } from "../text/Json.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { fileEventsOfCall, toolLabel } from "./Tools.ts"

interface Call {
  readonly tool: string
  readonly input: JsonObject
  readonly parentCallId?: string | undefined
}

interface CallResult {
  readonly status: PayloadOf<"run.tool.result">["status"]
  readonly output?: string | undefined
  readonly exitCode?: number | undefined
}

/** A file event of a sub-agent's call belongs to the call that started the sub-agent. */
const withParent = (event: AdapterEvent, parentCallId: string | undefined): AdapterEvent => {
  if (parentCallId === undefined) return event
  switch (event.type) {
    case "run.file.read":
      return draft(event.type, { ...event.payload, parentCallId })
    case "run.file.changed":
      return draft(event.type, { ...event.payload, parentCallId })
    case "run.patch.proposed":
      return draft(event.type, { ...event.payload, parentCallId })
    default:
      return event
  }
}

export class Calls {
  readonly relative: Relative
  readonly #collector: OutputCollector
  readonly #open = new Map<string, Call>()

  constructor(collector: OutputCollector, workspacePath: string) {
    this.#collector = collector
    this.relative = relativeTo(workspacePath)
  }

  /** Opens a call. A call without an id or a name is counted as unknown. */
  call(callId: string | undefined, tool: string | undefined, reported: unknown, parentCallId?: string): void {
    if (callId === undefined || tool === undefined) return this.#collector.countUnknown("tool call")
    if (this.#collector.isOver || this.#open.has(callId)) return
    const input = objectOf(reported)
    this.#open.set(callId, { tool, input, parentCallId })
    const label = toolLabel(tool, input, this.relative)
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId }))
  }

  get(callId: string): Call | undefined {
    return this.#open.get(callId)
  }

  /** Closes a call. If it succeeded, emits its files first: `files`, or the file that its input names. */
  result(callId: string | undefined, result: CallResult, files?: ReadonlyArray<AdapterEvent>): void {
    const call = callId === undefined ? undefined : this.#open.get(callId)
    if (callId === undefined || call === undefined) return this.#collector.countUnknown("tool result")
    this.#open.delete(callId)
    if (result.status === "completed") {
      for (const event of files ?? fileEventsOfCall(call.tool, call.input, callId, this.relative))
        this.#collector.emitEvent(withParent(event, call.parentCallId))
    }
    const { status, output, exitCode } = result
    this.#collector.closeCall(defined({ callId, status, output, exitCode }))
  }
}
