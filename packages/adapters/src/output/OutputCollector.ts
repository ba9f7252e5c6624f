/**
 * What every protocol keeps while a run talks: its outputs of this step, the tool calls without a result, the approvals, and whether the outcome is out.
 *
 * Guarantees for all adapters: a tool call is closed by exactly one result; a streamed message is completed; a long message that was not
 * streamed is, and one that was streamed in part is streamed to its end, so that no reader's limit loses it; what a cancel stops is
 * `cancelled`; there is exactly one outcome, and nothing after it.
 * Does not: contain anything about one runtime.
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

/** A failure of the runtime, told apart by `reason`; the message is for a person who can act on it. */
export const runtimeFailure = (
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => ({ code: "runtime_unavailable", message, details: { reason, ...details } })

/** More of them tell nothing new. */
const MAX_EARLY = 100
const MAX_KINDS = 100
/** So much of something unknown tells what it is. */
const RAW_CHARACTERS = 1_000

/** Length up to which any text fits into one event as JSON. */
const SHORT_CHARACTERS = 32_000
const EVENT_BYTES = 190_000

/** Whether one event cannot hold the text. */
const isLong = (text: string): boolean =>
  text.length > SHORT_CHARACTERS && Buffer.byteLength(JSON.stringify(text)) > EVENT_BYTES

const nothing: ReadonlyArray<AdapterOutput> = []

/** Whether a runtime that gives this has said something. */
const speaks = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Unknown" && _tag !== "Reply" && _tag !== "Usage"

export class OutputCollector {
  readonly #calls = new Map<string, { readonly tool: string; readonly parentCallId?: string }>()
  readonly #asked = new Map<string, "waiting" | "withdrawn">()
  readonly #messages = new OpenMessages()
  #outputs: Array<AdapterOutput> = []
  /** What was wrong with the output before the runtime said that it started: told after that, for a run's first word starts it. */
  #early: Array<AdapterOutput> = []
  /** The object that is being read, and the kinds of which one was told as it was printed. */
  #reading: JsonObject | undefined
  readonly #shown = new Set<string>()
  #started = false
  #over = false
  #cut = false
  #cancelling = false

  /** The outcome is out. */
  get isOver(): boolean {
    return this.#over
  }

  /** The output ended in the middle of a line. */
  get isCut(): boolean {
    return this.#cut
  }

  emit(output: AdapterOutput): void {
    if (this.#over) return
    if (!this.#started && speaks(output)) this.#begin()
    this.#outputs.push(output)
  }

  emitEvent(event: AdapterEvent): void {
    if (event.type === "run.message.delta") {
      if (!this.#over) this.#messages.streamed(event.payload)
    } else if (event.type === "run.message.completed") this.#complete(event.payload)
    this.emit({ _tag: "Event", event })
  }

  /** One event holds so much text; streamed text may be of any length. Its last pieces are missing where their lines were too long. */
  #complete({ channel, messageId, parentCallId, text: whole }: PayloadOf<"run.message.completed">): void {
    const text = this.#messages.completed(messageId, whole) ?? (isLong(whole) ? whole : "")
    if (text === "") return
    this.emit({
      _tag: "Event",
      event: draft("run.message.delta", { messageId, channel, text, ...defined({ parentCallId }) })
    })
  }

  /** A cancel was sent: what fails from now on was stopped by it. */
  markCancelled(): void {
    this.#cancelling = true
  }

  /** Completes the messages that were streamed in part. */
  closeMessages(): void {
    for (const event of this.#messages.takeAll()) this.emit({ _tag: "Event", event })
  }

  /** The runtime has started. Once, and not after it has said anything else: then it had started already. */
  start(payload: PayloadOf<"run.started">): void {
    if (this.#started || this.#over) return
    this.#started = true
    this.emitEvent(draft("run.started", payload))
    this.#begin()
  }

  #begin(): void {
    this.#started = true
    this.#outputs.push(...this.#early)
    this.#early = []
  }

  /** Opens a call; one that is open already is not opened again. */
  openCall(payload: Omit<PayloadOf<"run.tool.call">, "status">): void {
    if (this.#over || this.#calls.has(payload.callId)) return
    const { callId, tool, parentCallId } = payload
    this.#calls.set(callId, parentCallId === undefined ? { tool } : { tool, parentCallId })
    this.emitEvent(draft("run.tool.call", { ...payload, status: "started" }))
  }

  /** The tool of an open call. */
  toolOf(callId: string): string | undefined {
    return this.#calls.get(callId)?.tool
  }

  /** Closes an open call; false where there is none. */
  closeCall(payload: ToolResult): boolean {
    const call = this.#calls.get(payload.callId)
    if (call === undefined) return false
    this.#calls.delete(payload.callId)
    const status = this.#cancelling && payload.status === "failed" ? "cancelled" : payload.status
    this.emitEvent(draft("run.tool.result", { ...payload, status, ...call }))
    return true
  }

  /** Asks for an approval; a key is asked for once a run. */
  requestApproval(key: string, request: ApprovalRequest): boolean {
    if (this.#asked.has(key)) return false
    this.#asked.set(key, "waiting")
    this.emit({ _tag: "Approval", key, request })
    return true
  }

  /** The runtime no longer waits for it; false where it never did. */
  withdrawApproval(key: string, reason: string): boolean {
    if (this.#asked.get(key) !== "waiting") return false
    this.#asked.set(key, "withdrawn")
    this.emit({ _tag: "ApprovalWithdrawn", key, reason })
    return true
  }

  /** Counts an unknown output. The first one of a kind is reported as printed. */
  countUnknown(what: string): void {
    const reading = this.#shown.has(what) || this.#shown.size >= MAX_KINDS ? undefined : this.#reading
    if (reading === undefined) return this.emit({ _tag: "Unknown", what })
    this.#shown.add(what)
    this.emit({ _tag: "Unknown", what, raw: beginningOf(JSON.stringify(reading), RAW_CHARACTERS) })
  }

  reportInvalidLine(line: Extract<JsonLine, { _tag: "Invalid" }>): void {
    const { message, bytes, at } = line
    if (line.cut) this.#cut = true
    const event = draft("schema.validation_failed", { message, bytes, at })
    if (this.#started) this.emitEvent(event)
    else if (!this.#over && this.#early.length < MAX_EARLY) this.#early.push({ _tag: "Event", event })
  }

  /** Closes what is open, then says how it ended. Later outcomes are absorbed. */
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

  fail(error: RunFailure, usage?: Usage): void {
    this.conclude({ _tag: "Failed", error, ...defined({ usage }) })
  }

  /** The process is gone and its protocol said nothing of an end: what is left to tell. */
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

  /** Passes each object to `said`, and reports invalid lines. Returns the outputs since the last `takeOutputs`. */
  readLines(lines: ReadonlyArray<JsonLine>, said: (value: JsonObject) => void): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      if (line._tag === "Invalid") this.reportInvalidLine(line)
      else {
        this.#reading = line.value
        said(line.value)
      }
    }
    this.#reading = undefined
    return this.takeOutputs()
  }

  /** The outputs since the last `take`. */
  takeOutputs(): ReadonlyArray<AdapterOutput> {
    if (this.#outputs.length === 0) return nothing
    const outputs = this.#outputs
    this.#outputs = []
    return outputs
  }
}
