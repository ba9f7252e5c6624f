/**
 * Tool calls of one run of Claude Code: what a call is, and what its result means for files, steps, timers and open questions.
 *
 * Holds the inputs of open calls that later lines need, and no others: the input of a write is as long as its file.
 */
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { LOST_RESULT } from "../output/LostOutput.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { Relative } from "../files/RelativePath.ts"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { ClaudeInputs } from "./ClaudeInputs.ts"
import { ClaudeSteps } from "./ClaudeSteps.ts"
import type { ClaudeTimers } from "./ClaudeTimers.ts"
import { filesOfResult } from "./ResultContent.ts"
import {
  fileEventsOfInput,
  fileEventsOfResult,
  isWrite,
  parseExitCode,
  readResultOutput,
  statusOf
} from "./ToolResult.ts"
import { claudeCallLabel } from "./ToolUse.ts"

const remembered: ReadonlySet<string> = new Set([
  "CronCreate",
  "ExitPlanMode",
  "Read",
  "ScheduleWakeup",
  "TaskCreate",
  "TaskUpdate",
  "TodoWrite"
])

/** Whether an event is about the program's own file of a plan, which is outside of the workspace. */
const isPlanFile = ({ payload }: AdapterEvent): boolean =>
  "path" in payload && /^\/.*\/\.claude\/plans\/[^/]+\.md$/.test(payload.path)

export class ClaudeCalls {
  readonly #collector: OutputCollector
  readonly #inputs: ClaudeInputs
  readonly #timers: ClaudeTimers
  readonly #steps: ClaudeSteps
  readonly #inputOf = new Map<string, JsonObject>()

  constructor(collector: OutputCollector, inputs: ClaudeInputs, timers: ClaudeTimers) {
    this.#collector = collector
    this.#inputs = inputs
    this.#timers = timers
    this.#steps = new ClaudeSteps(collector)
  }

  /** Input of an open call, if later lines need it. */
  inputOf(callId: string | undefined): JsonObject | undefined {
    return callId === undefined ? undefined : this.#inputOf.get(callId)
  }

  /** Opens the call of a block. Returns false if it is none. */
  open(block: JsonObject, parentCallId: string | undefined, relative: Relative): boolean {
    const [callId, tool] = [textOf(block["id"]), textOf(block["name"])]
    if (callId === undefined || tool === undefined) return false
    const input = objectOf(block["input"])
    if (remembered.has(tool)) this.#inputOf.set(callId, input)
    else if (parentCallId !== undefined && isWrite(tool))
      this.#inputOf.set(callId, { file_path: input["file_path"] ?? input["notebook_path"] })
    const label = claudeCallLabel(tool, input, relative)
    this.#collector.openCall({ callId, tool, label, input, ...defined({ parentCallId }) })
    return true
  }

  /** Closes the call of a result. `line` has what the program adds to it. Returns false if the call is not open. */
  close(block: JsonObject, line: JsonObject, relative: Relative): boolean {
    const callId = textOf(block["tool_use_id"])
    const tool = callId === undefined ? undefined : this.#collector.toolOf(callId)
    if (callId === undefined || tool === undefined) return false
    this.#inputs.closeOfCall(callId)
    const input = this.#inputOf.get(callId) ?? {}
    this.#inputOf.delete(callId)
    const isFailed = block["is_error"] === true
    const output = readResultOutput(block["content"])
    const parentCallId = textOf(line["parent_tool_use_id"])
    if (!isFailed) {
      const structured = line["tool_use_result"]
      const call = { callId, ...defined({ parentCallId }) }
      const reported = fileEventsOfResult(tool, structured, call, relative)
      // The result of a sub-agent's call has only its text, and the result of an image has no path.
      const events = reported.length > 0 ? reported : fileEventsOfInput(tool, input, output, call, relative)
      for (const event of events) if (!isPlanFile(event)) this.#collector.emitEvent(event)
      this.#steps.readResult(tool, input, structured, output, parentCallId)
      this.#timers.readResult(tool, callId, input, structured)
    }
    for (const file of filesOfResult(block["content"], input)) this.#collector.artifact({ ...file, callId })
    const exitCode = isFailed && tool === "Bash" ? parseExitCode(output) : undefined
    const metas = arrayOf(line["tool_result_meta"]).filter(isJsonObject)
    const status = statusOf(isFailed, metas.find((meta) => meta["id"] === callId) ?? {})
    this.#collector.closeCall({ callId, status, ...defined({ output, exitCode }) })
    return true
  }

  /** Closes a call whose result was too long to be read. Returns false if it is not open. */
  closeLost(callId: string): boolean {
    this.#inputs.closeOfCall(callId)
    this.#inputOf.delete(callId)
    return this.#collector.closeCall({
      callId,
      status: "completed",
      output: LOST_RESULT
    })
  }
}
