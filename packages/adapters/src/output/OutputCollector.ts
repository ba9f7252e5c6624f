/**
 * Outputs of one run, as its protocol reports them, with the open tool calls, approvals, questions, background work and outcomes.
 *
 * Each turn ends with `endTurn`, and more output may follow: a sub-agent continues, or a further turn starts. `conclude` is the end of all
 * output.
 *
 * Guarantees for every adapter: each tool call is closed by exactly one result. A streamed message is completed. A message that one event
 * cannot hold is streamed in full. Work that a cancel stopped is `cancelled`. Each question is requested, answered and withdrawn at most once.
 * Background work starts and ends once. Every turn has exactly one outcome. No output follows `conclude`.
 * Does not: contain anything about a single runtime, or throw.
 */
import { Buffer } from "node:buffer"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import type { AdapterEvent, AdapterOutput, Outcome, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { SparseMap } from "@corral/domain/run/SparseMap"
import { MAX_STEPS, type Step } from "@corral/domain/run/Work"
import { beginningOf } from "../text/FirstLine.ts"
import { defined, type JsonObject } from "../text/Json.ts"
import type { InvalidLine, JsonLine } from "../text/JsonLines.ts"
import { boundInput } from "./BoundedInput.ts"
import {
  OpenCalls,
  OpenMessages,
  OutstandingWorks,
  RequestKeys,
  type StartedWork,
  type WorkEnding,
  type WorkOutput
} from "./OpenOutputs.ts"

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
/** Maximum length of a notice or a step. */
const MAX_TEXT = 8_192
/** Maximum length of the texts of all steps together, so that one event holds them. */
const STEPS_CHARACTERS = 60_000

/** Whether one event cannot hold the text. */
const isLong = (text: string): boolean =>
  text.length > SHORT_CHARACTERS && Buffer.byteLength(JSON.stringify(text)) > EVENT_BYTES

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`

const noOutputs: ReadonlyArray<AdapterOutput> = []

/** Status of a call that a turn leaves without a result. */
const closingStatus = ({ _tag }: Outcome): "cancelled" | "failed" =>
  _tag === "Cancelled" ? "cancelled" : "failed"

/** Whether an output shows that the runtime has started. */
const startsRun = ({ _tag }: AdapterOutput): boolean =>
  _tag !== "Unknown" && _tag !== "Reply" && _tag !== "Usage"

export class OutputCollector {
  readonly #calls = new OpenCalls()
  readonly #approvals = new RequestKeys()
  readonly #inputs = new RequestKeys()
  readonly #work = new OutstandingWorks()
  /** Lists of steps as they were emitted last, by the call of their sub-agent (`""` for the agent itself). */
  readonly #steps = new SparseMap<string, string>()
  readonly #messages = new OpenMessages()
  #outputs: Array<AdapterOutput> = []
  /** Invalid lines before the runtime has started. They are emitted after its start, because a run's first event has to be its start. */
  #beforeStart: Array<AdapterOutput> = []
  /** The object that is read now, and the unknown kinds that were reported as printed. */
  #currentObject: JsonObject | undefined
  #reportedKinds: Set<string> | undefined
  #started = false
  /** Whether the outcome of the turn was emitted, and no further turn has started. */
  #idle = false
  /** Whether a message was written to the idle runtime, whose turn has not started. */
  #awaitsTurn = false
  #over = false
  #cut = false
  #cancelling = false

  /** Whether the run was concluded. */
  get isOver(): boolean {
    return this.#over
  }

  /** Whether the turn has ended, and no further turn has started. */
  get isIdle(): boolean {
    return this.#idle
  }

  /** Whether the turn has ended, and no message was written that starts the next one: a further message starts a turn. */
  get canStartTurn(): boolean {
    return this.#idle && !this.#awaitsTurn
  }

  /** Records that a message was written to the idle runtime. The turn that starts next is because of it. */
  awaitTurn(): void {
    this.#awaitsTurn = true
  }

  /** Whether the output ended in the middle of a line. */
  get isCut(): boolean {
    return this.#cut
  }

  /** Emits an output, unless the run was concluded. */
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

  /** Completes the streamed messages that are still open: all, or those whose id starts with `prefix`. */
  closeMessages(prefix = ""): void {
    for (const event of this.#messages.takeAll(prefix)) this.emit({ _tag: "Event", event })
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
    if (this.#over) return
    const { callId, tool, parentCallId } = payload
    if (!this.#calls.open(callId, parentCallId === undefined ? { tool } : { tool, parentCallId })) return
    this.emitEvent(draft("run.tool.call", { ...payload, status: "started" }))
  }

  /** Tool of an open call; `undefined` if there is none with this id. */
  toolOf(callId: string): string | undefined {
    return this.#calls.get(callId)?.tool
  }

  /** Closes an open call. Returns false if there is none with this id. */
  closeCall(payload: ToolResult): boolean {
    const call = this.#calls.close(payload.callId)
    if (call === undefined) return false
    const status = this.#cancelling && payload.status === "failed" ? "cancelled" : payload.status
    this.emitEvent(draft("run.tool.result", { ...payload, status, ...call }))
    return true
  }

  /** Requests an approval. Returns false if the key was used before in this run. */
  requestApproval(key: string, request: ApprovalRequest): boolean {
    if (!this.#approvals.open(key)) return false
    this.emit({ _tag: "Approval", key, request })
    return true
  }

  /** Whether an approval waits for this answer. Returns false for an unknown key, and for a second answer. */
  takeAnswer(key: string): boolean {
    return this.#approvals.answer(key)
  }

  /** Withdraws an approval that the runtime no longer waits for. Returns false if it was not waiting. */
  withdrawApproval(key: string, reason: string): boolean {
    if (!this.#approvals.withdraw(key)) return false
    this.emit({ _tag: "ApprovalWithdrawn", key, reason })
    return true
  }

  /**
   * Asks a person, within the bounds of the specification. A longer plan becomes an artifact, and a notice names what is not shown. Returns
   * false if the key was used before in this run.
   */
  requestInput(key: string, input: RequestedInput): boolean {
    if (!this.#inputs.open(key)) return false
    const { omission, request, wholePlan } = boundInput(input)
    if (wholePlan !== undefined)
      this.artifact({ name: "plan.md", mediaType: "text/markdown", content: wholePlan })
    if (omission !== undefined) this.notice("warning", omission)
    this.emit({ _tag: "InputRequested", key, request })
    return true
  }

  /** Whether a question waits for this response. Returns false for an unknown key, and for a second response. */
  takeResponse(key: string): boolean {
    return this.#inputs.answer(key)
  }

  /** Withdraws a question that the runtime no longer waits for. Returns false if it was not waiting. */
  withdrawInput(key: string, state: "withdrawn" | "self_answered"): boolean {
    if (!this.#inputs.withdraw(key)) return false
    this.emit({ _tag: "InputWithdrawn", key, state })
    return true
  }

  /** Ids of the outstanding work, in the order of the starts. */
  get outstandingWork(): ReadonlyArray<string> {
    return this.#work.ids
  }

  /** Whether work is outstanding. */
  get hasOutstandingWork(): boolean {
    return !this.#work.isEmpty
  }

  /** Starts work in the background. Ignored if it is outstanding. */
  startWork(work: StartedWork): void {
    const output = this.#over ? undefined : this.#work.start(work)
    if (output?.parentCallId !== undefined) this.#calls.addDependent(output.parentCallId)
    this.#emitWork(output)
  }

  /** Ends work in the background. Ignored if it is not outstanding. `continues`: the runtime starts a turn because of it. */
  endWork(id: string, state: WorkEnding, continues = false): void {
    const output = this.#over ? undefined : this.#work.end(id, state, continues)
    if (output?.parentCallId !== undefined) this.#calls.removeDependent(output.parentCallId)
    this.#emitWork(output)
  }

  /** Starts work, or ends it, as a runtime reports it that repeats its reports. */
  work({ continues = false, state, ...work }: Omit<WorkOutput, "_tag">): void {
    if (state === "running") this.startWork(work)
    else this.endWork(work.id, state, continues)
  }

  #emitWork(output: WorkOutput | undefined): void {
    if (output !== undefined) this.emit(output)
  }

  /** Emits the whole list of steps, if it has changed. */
  steps(steps: ReadonlyArray<Step>, parentCallId?: string): void {
    const first = steps.slice(0, MAX_STEPS)
    const characters = Math.min(MAX_TEXT, Math.floor(STEPS_CHARACTERS / Math.max(1, first.length)))
    const shown = first.map((step) => ({ ...step, text: beginningOf(step.text, characters) }))
    const printed = JSON.stringify(shown)
    const before = this.#steps.get(parentCallId ?? "")
    if (printed === (before ?? "[]")) return
    this.#steps.set(parentCallId ?? "", printed)
    if (before === undefined && steps.length > MAX_STEPS)
      this.notice("warning", `The agent lists ${steps.length} steps. The first ${MAX_STEPS} are shown.`)
    this.emitEvent(draft("run.steps.updated", { steps: shown, ...defined({ parentCallId }) }))
  }

  /** Emits a notice of the runtime for people. */
  notice(
    kind: PayloadOf<"run.notice">["kind"],
    text: string,
    more: Pick<PayloadOf<"run.notice">, "data" | "parentCallId"> = {}
  ): void {
    this.emitEvent(draft("run.notice", { kind, text: beginningOf(text, MAX_TEXT), ...more }))
  }

  /** Emits a file of the runtime. With `callId`: part of the result of that call, which follows. */
  artifact(artifact: Omit<Extract<AdapterOutput, { readonly _tag: "Artifact" }>, "_tag">): void {
    this.emit({ _tag: "Artifact", ...artifact })
  }

  /**
   * A further turn begins: an outcome that waits is discarded. The first turn needs no call. `ended`: outcome of the turn before, if this turn
   * follows it without a pause.
   */
  startTurn(turn: { readonly by?: "message"; readonly ended?: Outcome } = {}): void {
    if (turn.ended !== undefined) this.#closeOwn(turn.ended)
    this.#idle = false
    const by = this.#awaitsTurn ? ({ by: "message" } as const) : {}
    this.#awaitsTurn = false
    this.emit({ _tag: "TurnStarted", ...by, ...turn })
  }

  /** Counts an unknown output under a name. The first one of a kind is reported as printed. */
  countUnknown(what: string): void {
    const kinds = (this.#reportedKinds ??= new Set())
    const reading = kinds.has(what) || kinds.size >= MAX_KINDS ? undefined : this.#currentObject
    if (reading === undefined) return this.emit({ _tag: "Unknown", what })
    kinds.add(what)
    this.emit({ _tag: "Unknown", what, raw: beginningOf(JSON.stringify(reading), RAW_CHARACTERS) })
  }

  /** Emits `schema.validation_failed` for a line, without its content. A line over the limit is lost output, which a notice reports to people. */
  reportInvalidLine(line: InvalidLine): void {
    const { message, bytes, at } = line
    if (line.cut) this.#cut = true
    this.#emitAfterStart(draft("schema.validation_failed", { message, bytes, at }))
    if (line.head === undefined) return
    const text = `The agent printed a line of ${mebibytes(bytes)}. It is too long to be read, so its content is missing.`
    this.#emitAfterStart(draft("run.notice", { kind: "warning", text, data: { bytes } }))
  }

  #emitAfterStart(event: AdapterEvent): void {
    if (this.#started) this.emitEvent(event)
    else if (!this.#over && this.#beforeStart.length < MAX_EARLY)
      this.#beforeStart.push({ _tag: "Event", event })
  }

  /**
   * Ends a turn: closes the messages and calls of the agent itself, then emits the outcome. Sub-agents and background work continue, and so does
   * the output.
   */
  endTurn(outcome: Outcome): void {
    if (this.#over) return
    this.#closeOwn(outcome)
    this.#emitOutcome(outcome)
    this.#idle = true
  }

  #closeOwn(outcome: Outcome): void {
    for (const event of this.#messages.takeOwn()) this.emit({ _tag: "Event", event })
    for (const callId of this.#calls.closable) this.closeCall({ callId, status: closingStatus(outcome) })
  }

  /** Closes open messages and calls, then emits the outcome. The end of all output. */
  conclude(outcome: Outcome): void {
    if (this.#over) return
    this.#closeAll(closingStatus(outcome))
    this.#emitOutcome(outcome)
    this.#over = true
  }

  #closeAll(status: "cancelled" | "failed"): void {
    this.closeMessages()
    for (const callId of this.#calls.ids) this.closeCall({ callId, status })
  }

  #emitOutcome(outcome: Outcome): void {
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
  }

  /** Concludes with a failure. */
  fail(error: RunFailure, usage?: Usage): void {
    this.conclude({ _tag: "Failed", error, ...defined({ usage }) })
  }

  /**
   * Concludes after the end of the process. Between turns the last outcome stays. In a turn without an outcome the run is cancelled, truncated,
   * crashed or without a result. `label` is the runtime's name.
   */
  concludeAtExit(label: string, end: ProcessEnd): void {
    if (this.#over) return
    if (this.#idle) {
      this.#closeAll("failed")
      this.#over = true
      return
    }
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

  /**
   * Passes each object to `onObject`, and reports invalid lines. `onLost` receives the fields of a line over the limit that its beginning has.
   * Returns the outputs since the last `takeOutputs`.
   */
  readLines(
    lines: ReadonlyArray<JsonLine>,
    onObject: (value: JsonObject) => void,
    onLost?: (head: JsonObject) => void
  ): ReadonlyArray<AdapterOutput> {
    for (const line of lines) {
      if (line._tag === "Invalid") {
        this.reportInvalidLine(line)
        if (line.head !== undefined) onLost?.(line.head)
      } else {
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
