/**
 * Outputs of one run, as its protocol reports them, with the open tool calls, the approvals and the outcome.
 *
 * Guarantees for every adapter: each tool call is closed by exactly one result. A streamed message is completed. A message that one event
 * cannot hold is streamed in full. Work that a cancel stopped is `cancelled`. There is exactly one outcome, and no output after it.
 * Does not: contain anything about a single runtime, or throw.
 */
import { Buffer } from "node:buffer"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import type { AdapterEvent, AdapterOutput, Outcome, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { beginningOf } from "../text/Excerpt.ts"
import { defined, type JsonObject } from "../text/Json.ts"
import type { JsonLine } from "../text/JsonLines.ts"
import { OpenMessages } from "./OpenMessages.ts"

type ToolResult = Omit<PayloadOf<"run.tool.result">, "tool" | "parentCallId">

/** Failure of a runtime with the code `runtime_unavailable`. `reason` is its kind in `details`, `message` a sentence for the user who can act on it. */
export const runtimeFailure = (
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => ({ code: "runtime_unavailable", message, details: { reason, ...details } })

/** Maximum number of invalid lines before the start that are reported. */
const MAX_EARLY = 100
/** Maximum number of unknown kinds that are reported as printed. */
const MAX_KINDS = 100
/** Maximum length of an unknown output in the report. */
const RAW_CHARACTERS = 1_000

/** Length up to which any text fits into one event as JSON. */
const SHORT_CHARACTERS = 32_000
const EVENT_BYTES = 190_000

/** Whether one event cannot hold the text. */
const isLong = (text: string): boolean =>
  text.length > SHORT_CHARACTERS && Buffer.byteLength(JSON.stringify(text)) > EVENT_BYTES

const noOutputs: ReadonlyArray<AdapterOutput> = []

/** Whether an output shows that the runtime has started. */
const startsRun = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Unknown" && _tag !== "Reply" && _tag !== "Usage"

export class OutputCollector {
  readonly #calls = new Map<string, { readonly tool: string; readonly parentCallId?: string }>()
  readonly #approvals = new Map<string, "waiting" | "withdrawn">()
  readonly #answered = new Set<string>()
  readonly #messages = new OpenMessages()
  #outputs: Array<AdapterOutput> = []
  /** Invalid lines before the runtime has started. They are emitted after its start, because a run's first event has to be its start. */
  #beforeStart: Array<AdapterOutput> = []
  /** The object that is read now, and the unknown kinds that were reported as printed. */
  #currentObject: JsonObject | undefined
  #reportedKinds: Set<string> | undefined
  #started = false
  #over = false
  #cut = false
  #cancelling = false

  /** Whether the outcome was emitted. */
  get isOver(): boolean {
    return this.#over
  }

  /** Whether the output ended in the middle of a line. */
  get isCut(): boolean {
    return this.#cut
  }

  /** Emits an output, unless the outcome was emitted. */
  emit(output: AdapterOutput): void {
    if (this.#over) return
    if (!this.#started && startsRun(output)) this.#releaseEarly()
    this.#outputs.push(output)
  }

  /** Emits an event, and follows streamed messages. */
  emitEvent(event: AdapterEvent): void {
    if (event.type === "run.message.delta") {
      if (!this.#over) this.#messages.streamed(event.payload)
    } else if (event.type === "run.message.completed") this.#streamRest(event.payload)
    this.emit({ _tag: "Event", event })
  }

  /** Streams what the deltas of a completed message lack: pieces in invalid lines, or all of a text that one event cannot hold. */
  #streamRest({ channel, messageId, parentCallId, text: whole }: PayloadOf<"run.message.completed">): void {
    const text = this.#messages.completed(messageId, whole) ?? (isLong(whole) ? whole : "")
    if (text === "") return
    this.emit({
      _tag: "Event",
      event: draft("run.message.delta", { messageId, channel, text, ...defined({ parentCallId }) })
    })
  }

  /** Records that a cancel was sent. Later failures of calls become `cancelled`. */
  markCancelled(): void {
    this.#cancelling = true
  }

  /** Completes the streamed messages that are still open. */
  closeMessages(): void {
    for (const event of this.#messages.takeAll()) this.emit({ _tag: "Event", event })
  }

  /** Emits `run.started`. Ignored after the first time, and after any other output of the runtime. */
  start(payload: PayloadOf<"run.started">): void {
    if (this.#started || this.#over) return
    this.#started = true
    this.emitEvent(draft("run.started", payload))
    this.#releaseEarly()
  }

  #releaseEarly(): void {
    this.#started = true
    this.#outputs.push(...this.#beforeStart)
    this.#beforeStart = []
  }

  /** Opens a call. Ignored if the call is open. */
  openCall(payload: Omit<PayloadOf<"run.tool.call">, "status">): void {
    if (this.#over || this.#calls.has(payload.callId)) return
    const { callId, tool, parentCallId } = payload
    this.#calls.set(callId, parentCallId === undefined ? { tool } : { tool, parentCallId })
    this.emitEvent(draft("run.tool.call", { ...payload, status: "started" }))
  }

  /** Tool of an open call; `undefined` if there is none with this id. */
  toolOf(callId: string): string | undefined {
    return this.#calls.get(callId)?.tool
  }

  /** Closes an open call. Returns false if there is none with this id. */
  closeCall(payload: ToolResult): boolean {
    const call = this.#calls.get(payload.callId)
    if (call === undefined) return false
    this.#calls.delete(payload.callId)
    const status = this.#cancelling && payload.status === "failed" ? "cancelled" : payload.status
    this.emitEvent(draft("run.tool.result", { ...payload, status, ...call }))
    return true
  }

  /** Requests an approval. Returns false if the key was used before in this run. */
  requestApproval(key: string, request: ApprovalRequest): boolean {
    if (this.#approvals.has(key)) return false
    this.#approvals.set(key, "waiting")
    this.emit({ _tag: "Approval", key, request })
    return true
  }

  /** Whether an approval waits for this answer. Returns false for an unknown key, and for a second answer. */
  takeAnswer(key: string): boolean {
    if (!this.#approvals.has(key) || this.#answered.has(key)) return false
    this.#answered.add(key)
    return true
  }

  /** Withdraws an approval that the runtime no longer waits for. Returns false if it was not waiting. */
  withdrawApproval(key: string, reason: string): boolean {
    if (this.#approvals.get(key) !== "waiting") return false
    this.#approvals.set(key, "withdrawn")
    this.emit({ _tag: "ApprovalWithdrawn", key, reason })
    return true
  }

  /** Counts an unknown output under a name. The first one of a kind is reported as printed. */
  countUnknown(what: string): void {
    const kinds = (this.#reportedKinds ??= new Set())
    const reading = kinds.has(what) || kinds.size >= MAX_KINDS ? undefined : this.#currentObject
    if (reading === undefined) return this.emit({ _tag: "Unknown", what })
    kinds.add(what)
    this.emit({ _tag: "Unknown", what, raw: beginningOf(JSON.stringify(reading), RAW_CHARACTERS) })
  }

  /** Emits `schema.validation_failed` for a line, without its content. */
  reportInvalidLine(line: Extract<JsonLine, { _tag: "Invalid" }>): void {
    const { message, bytes, at } = line
    if (line.cut) this.#cut = true
    const event = draft("schema.validation_failed", { message, bytes, at })
    if (this.#started) this.emitEvent(event)
    else if (!this.#over && this.#beforeStart.length < MAX_EARLY)
      this.#beforeStart.push({ _tag: "Event", event })
  }

  /** Closes open messages and calls, then emits the outcome. Later outcomes are ignored. */
  conclude(outcome: Outcome): void {
    if (this.#over) return
    const status = outcome._tag === "Cancelled" ? "cancelled" : "failed"
    this.closeMessages()
    for (const callId of this.#calls.keys()) this.closeCall({ callId, status })
    if (outcome._tag === "Failed" && outcome.error.code === "runtime_unavailable") {
      const reason = outcome.error.details?.["reason"]
      this.emitEvent(
        draft("runtime.unavailable", {
          reason: typeof reason === "string" ? reason : "unknown",
          message: outcome.error.message
        })
      )
    }
    this.emit({ _tag: "Outcome", outcome })
    this.#over = true
  }

  /** Concludes with a failure. */
  fail(error: RunFailure, usage?: Usage): void {
    this.conclude({ _tag: "Failed", error, ...defined({ usage }) })
  }

  /** Concludes after the end of a process without an outcome: cancelled, truncated, crashed or without a result. `label` is the runtime's name. */
  concludeAtExit(label: string, end: ProcessEnd): void {
    if (this.#over) return
    if (this.#cancelling) return this.conclude({ _tag: "Cancelled", reason: "interrupted" })
    const exit = { ...defined({ exitCode: end.code ?? undefined, signal: end.signal ?? undefined }) }
    if (end.signal !== null) {
      this.fail(
        runtimeFailure("crashed", `${label} was ended by ${end.signal} before it gave a result.`, exit)
      )
    } else if (this.#cut) {
      const message = `${label} ended in the middle of its output, so its result is lost. Start the run again.`
      this.fail(runtimeFailure("truncated", message, exit))
    } else if (end.code === 0) {
      this.fail(runtimeFailure("no_result", `${label} ended without a result.`, exit))
    } else {
      const code = end.code === null ? "" : ` with exit code ${end.code}`
      this.fail(runtimeFailure("crashed", `${label} ended${code} before it gave a result.`, exit))
    }
  }

  /** Passes each object to `onObject`, and reports invalid lines. Returns the outputs since the last `takeOutputs`. */
  readLines(
    lines: ReadonlyArray<JsonLine>,
    onObject: (value: JsonObject) => void
  ): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      if (line._tag === "Invalid") this.reportInvalidLine(line)
      else {
        this.#currentObject = line.value
        onObject(line.value)
      }
    }
    this.#currentObject = undefined
    return this.takeOutputs()
  }

  /** Takes the outputs since the last call. */
  takeOutputs(): ReadonlyArray<AdapterOutput> {
    if (this.#outputs.length === 0) return noOutputs
    const outputs = this.#outputs
    this.#outputs = []
    return outputs
  }
}
