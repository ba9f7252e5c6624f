/**
 * View of a run for display: its state, its pending approvals and its display blocks, folded from events.
 *
 * Guarantees: incremental, each event in constant time; the result does not depend on how the events are grouped. Memory is bounded by
 * `BlockList` and `BoundedText`.
 * Does not: refuse events. The log has passed `RunState`, the transition table; a view shows what the log contains. Order and gaps are those
 * of `EventSequence`. Imports no runtime code of Effect, so that it fits a browser.
 */
import { firstCharacters } from "../text/Cut.ts"
import { BlockList } from "./BlockList.ts"
import { confinementFailure } from "./ConfinementText.ts"
import { editedLabel } from "./EditedLabel.ts"
import {
  appendText,
  type BoundedText,
  boundText,
  boundTextEnd,
  boundTextEnds,
  type EndBlock,
  type MessageBlock,
  type PauseBlock,
  type RunBlock
} from "./RunBlock.ts"
import { envelopeOf, type MissingEvents, type SequencedEvent } from "./EventSequence.ts"
import { type EventHandlers, handleEvent } from "./EventTable.ts"
import { approvalResolution, inputResolution } from "./Resolution.ts"
import type { RunStatus, Usage } from "./Run.ts"
import type { Envelope, EventOf, PayloadOf, RunEvent } from "./RunEvent.ts"
import type { TerminalType } from "./RunEnd.ts"

/** Unknown events that are kept for inspection. */
const MAX_UNKNOWN_EVENTS = 200
const MAX_LABEL = 4_096

export class RunView {
  /** State of the run. `queued` comes only from a Hub. */
  state: RunStatus | "queued" | undefined
  /** Whether the processes of the run are frozen. */
  isPaused = false
  /** The last `seq` in the view. */
  lastSeq = 0
  /** Number of events that this build does not know. */
  unknown = 0
  readonly unknownEvents: Array<Envelope> = []
  /** Whether the runtime has ended its turn and the run continues. */
  isIdle = false
  /** Approvals that need a decision. */
  readonly pending = new Set<string>()
  /** Questions that need an answer. */
  readonly pendingInputs = new Set<string>()
  /** What the run has used, as far as its events say. */
  usage: Usage | undefined
  /** Work in the background: id → title. */
  readonly outstanding = new Map<string, string>()
  private readonly list = new BlockList()
  /** Pending approvals by the tool call that needs them. */
  private readonly approvalOfCall = new Map<string, string>()
  private lastWarning: string | undefined
  private confinementFailure: string | undefined
  private endsWithEdge = false

  /** In the order of the events that began them. */
  get blocks(): ReadonlyArray<RunBlock> {
    return this.list.blocks
  }

  /** Number of first blocks that were dropped. */
  get dropped(): number {
    return this.list.dropped
  }

  apply({ decoded, missing }: SequencedEvent): void {
    if (missing !== undefined) this.markMissing(missing)
    this.lastSeq = envelopeOf(decoded).seq
    if (decoded._tag === "KnownEvent") {
      handleEvent(RunView.handlers, this, decoded.event)
      this.list.trim()
      return
    }
    this.unknown++
    if (this.unknownEvents.length < MAX_UNKNOWN_EVENTS) this.unknownEvents.push(decoded.envelope)
  }

  /** Shows that events are no longer available. */
  markMissing({ from, noticedAt: at, to }: MissingEvents): void {
    this.list.push({ kind: "gap", seq: from, at, from, to })
    this.lastSeq = to
  }

  private static readonly handlers: EventHandlers<RunView, void> = {
    "run.created": (view, event) => {
      view.state = "created"
      const { confinement, endsWithEdge, mode } = event.payload
      view.endsWithEdge = endsWithEdge === true
      view.confinementFailure = confinement && confinementFailure(confinement, mode)
      const { text } = event.payload.input
      const body = boundText(text, event.seq)
      view.list.push({
        ...startOf(event),
        kind: "message",
        messageId: "",
        role: "user",
        channel: "text",
        body,
        partial: false
      })
    },
    "run.started": (view, event) => {
      // A connection at the start of the runtime can wait for a decision.
      view.state = view.liveState
      const { model, projectSettings, runtimeVersion: version } = event.payload
      const { confinementFailure, endsWithEdge } = view
      view.list.push({
        kind: "start",
        ...startOf(event),
        model,
        version,
        projectSettings,
        confinementFailure,
        endsWithEdge
      })
    },
    "run.completed": (view, event) => view.end(event, { state: "completed", stopped: event.payload.stopped }),
    "run.failed": (view, event) => view.end(event, { state: "failed", error: event.payload.error }),
    "run.cancelled": (view, event) => {
      const { by, reason } = event.payload
      view.end(event, { state: "cancelled", by, reason })
    },
    "run.paused": (view, event) => view.setPaused(event, "paused"),
    "run.resumed": (view, event) => view.setPaused(event, "resumed"),
    "run.message.delta": (view, event) => view.addDelta(event),
    "run.message.completed": (view, event) => view.completeMessage(event),
    "run.tool.call": (view, event) => view.startCall(event),
    "run.tool.result": (view, event) => view.endCall(event),
    "run.file.read": (view, event) => {
      const { callId, parentCallId, path } = event.payload
      const read = { path, fromPath: undefined, change: "read", callId, parentCallId } as const
      view.list.push({ kind: "file", ...startOf(event), ...read })
    },
    "run.file.changed": (view, event) => {
      const { callId, change, fromPath, parentCallId, path } = event.payload
      view.list.push({ kind: "file", ...startOf(event), path, fromPath, change, callId, parentCallId })
    },
    "run.diff.ready": (view, event) => {
      const { additions, deletions, files, leftOut } = event.payload
      view.list.push({ kind: "diff", ...startOf(event), files, additions, deletions, leftOut })
    },
    "run.changes.unknown": (view, event) => {
      const { detail, reason } = event.payload
      view.list.push({ kind: "unknown_changes", ...startOf(event), reason, detail })
    },
    "run.protected.changed": (view, event) => {
      const { count, files, incomplete } = event.payload
      const changes = { count, files, ...(incomplete === true ? { incomplete } : {}) }
      view.list.push({ kind: "protected", ...startOf(event), changes })
    },
    "run.repository.changed": (view, event) => {
      view.list.push({ kind: "repository", ...startOf(event), change: event.payload })
    },
    "run.patch.proposed": (view, event) => {
      const { callId, parentCallId, patch, path, totalBytes } = event.payload
      view.list.push({
        kind: "patch",
        ...startOf(event),
        callId,
        parentCallId,
        path,
        patch: payloadText(patch, event.seq, totalBytes)
      })
    },
    "run.artifact.ready": (view, event) => {
      const { artifactId, mediaType, name, size } = event.payload
      view.list.push({ kind: "artifact", ...startOf(event), artifactId, name, mediaType, size })
    },
    "run.preview.ready": (view, event) => {
      const { expiresAt, previewId, title } = event.payload
      view.list.push({ kind: "preview", ...startOf(event), previewId, title, expiresAt })
    },
    "run.approval.requested": (view, event) => view.requestApproval(event),
    "run.approval.resolved": (view, event) => view.resolveApproval(event),
    "run.input.requested": (view, event) => view.requestInput(event),
    "run.input.resolved": (view, event) => view.resolveInput(event),
    "run.work.started": (view, event) => {
      const { kind: work, parentCallId, title, workId } = event.payload
      view.outstanding.set(workId, title)
      const running = { state: "running", endedAt: undefined } as const
      const block = { kind: "work", workId, work, title, parentCallId, ...running } as const
      view.list.push({ ...startOf(event), ...block }, workKey(workId))
    },
    "run.work.ended": (view, event) => {
      const { state, workId } = event.payload
      view.outstanding.delete(workId)
      const found = view.list.find(workKey(workId), "work")
      if (found !== undefined)
        view.list.replace(workKey(workId), { ...found, state, endedAt: event.createdAt })
    },
    "run.turn.started": (view, event) => {
      view.isIdle = false
      const { by, turn } = event.payload
      view.list.push({ kind: "turn", ...startOf(event), turn, by })
    },
    "run.turn.ended": (view) => {
      view.isIdle = true
    },
    "run.usage.updated": (view, event) => {
      view.usage = event.payload.usage
    },
    "run.steps.updated": (view, event) => {
      const { parentCallId, steps } = event.payload
      const key = `steps ${parentCallId ?? ""}`
      const found = view.list.find(key, "steps")
      if (found === undefined) view.list.push({ kind: "steps", ...startOf(event), steps, parentCallId }, key)
      else view.list.replace(key, { ...found, steps })
    },
    "run.notice": (view, event) => {
      const { parentCallId } = event.payload
      view.list.push({ kind: "notice", ...startOf(event), notice: event.payload, parentCallId })
    },
    "runtime.unavailable": (view, event) => view.warn(event, event.payload.message),
    "runtime.retrying": (view, event) => {
      view.list.removeLast("retry")
      view.list.push({ kind: "retry", ...startOf(event), retry: event.payload })
    },
    "runtime.timeout": (view, event) => {
      const { afterMs, kind } = event.payload
      view.warn(event, `${kind} ${Math.round(afterMs / 1000)} s`)
    },
    "schema.validation_failed": (view, event) => view.warn(event, event.payload.message),
    // Events of chats have no run to show.
    "integration.message.received": () => {},
    "integration.card.action": () => {},
    "identity.binding.required": () => {}
  }

  private setPaused(event: EventOf<"run.paused" | "run.resumed">, change: PauseBlock["change"]): void {
    this.isPaused = change === "paused"
    const { by, reason } = event.payload
    this.list.push({ kind: "pause", ...startOf(event), change, by, reason })
  }

  /** State while the run is live: an approval shows before a question. */
  private get liveState(): RunStatus {
    if (this.pending.size > 0) return "waiting_approval"
    return this.pendingInputs.size > 0 ? "waiting_input" : "running"
  }

  private requestInput(event: EventOf<"run.input.requested">): void {
    const { expiresAt, inputId, request } = event.payload
    this.pendingInputs.add(inputId)
    this.state = this.liveState
    const { parentCallId } = request
    const open = { state: "pending", resolution: undefined } as const
    this.list.push(
      { kind: "input", ...startOf(event), inputId, request, expiresAt, parentCallId, ...open },
      inputKey(inputId)
    )
  }

  private resolveInput(event: EventOf<"run.input.resolved">): void {
    const { inputId, state } = event.payload
    this.pendingInputs.delete(inputId)
    this.state = this.liveState
    const found = this.list.find(inputKey(inputId), "input")
    if (found === undefined) return
    const resolution = inputResolution(event.payload, event.createdAt)
    this.list.replace(inputKey(inputId), { ...found, state, resolution })
  }

  private addDelta(event: EventOf<"run.message.delta">): void {
    const { channel, messageId, parentCallId, text } = event.payload
    const key = messageKey(event.payload)
    const found = this.list.find(key, "message")
    if (found?.partial === true) {
      this.list.replace(key, { ...found, body: appendText(found.body, text, event.seq) })
      return
    }
    const body = boundText(text, event.seq)
    const block = {
      kind: "message",
      messageId,
      role: "assistant",
      channel,
      body,
      partial: true,
      parentCallId
    } as const
    this.list.push({ ...startOf(event), ...block }, key)
  }

  private completeMessage(event: EventOf<"run.message.completed">): void {
    const { channel, messageId, parentCallId, role, text, totalBytes } = event.payload
    const key = messageKey(event.payload)
    const found = this.list.find(key, "message")
    const body = payloadText(text, event.seq, totalBytes)
    if (found?.partial === true) this.list.replace(key, { ...found, role, body, partial: false })
    else {
      const block: MessageBlock = {
        kind: "message",
        ...startOf(event),
        messageId,
        role,
        channel,
        body,
        partial: false,
        parentCallId
      }
      this.list.push(block, key)
    }
  }

  private startCall(event: EventOf<"run.tool.call">): void {
    const { callId, input, label, parentCallId, tool } = event.payload
    this.list.push(
      {
        kind: "tool",
        ...startOf(event),
        callId,
        parentCallId,
        tool,
        label: firstCharacters(label, MAX_LABEL),
        input: jsonText(input, event.seq),
        isWaiting: this.approvalOfCall.has(callId),
        status: "started",
        output: undefined,
        exitCode: undefined,
        artifactId: undefined,
        endedAt: undefined,
        allowedInput: undefined
      },
      callKey(callId)
    )
  }

  private endCall(event: EventOf<"run.tool.result">): void {
    const { artifactId, callId, content, exitCode, kernelRefusal, output: text } = event.payload
    const { parentCallId, status, tool, totalBytes } = event.payload
    const output = text === undefined ? undefined : outputText(text, event.seq, totalBytes)
    const ended = { endedAt: event.createdAt, isWaiting: false }
    const result = { status, output, exitCode, kernelRefusal, artifactId, content, ...ended }
    const key = callKey(callId)
    const found = this.list.find(key, "tool")
    if (found !== undefined) {
      this.list.replace(key, { ...found, ...result })
      return
    }
    const withoutCall = { label: tool, input: undefined, allowedInput: undefined }
    this.list.push(
      { kind: "tool", ...startOf(event), callId, parentCallId, tool, ...withoutCall, ...result },
      key
    )
  }

  private requestApproval(event: EventOf<"run.approval.requested">): void {
    const { approvalId, expiresAt, request } = event.payload
    this.pending.add(approvalId)
    this.state = this.liveState
    const { callId } = request
    if (callId !== undefined) {
      this.approvalOfCall.set(callId, approvalId)
      const call = this.list.find(callKey(callId), "tool")
      if (call?.status === "started") this.list.replace(callKey(callId), { ...call, isWaiting: true })
    }
    const open = { state: "pending", resolution: undefined } as const
    this.list.push(
      { kind: "approval", ...startOf(event), approvalId, request, expiresAt, ...open },
      approvalKey(approvalId)
    )
  }

  private resolveApproval(event: EventOf<"run.approval.resolved">): void {
    const { approvalId, state } = event.payload
    this.pending.delete(approvalId)
    if (this.pending.size === 0) this.state = this.liveState
    const found = this.list.find(approvalKey(approvalId), "approval")
    if (found === undefined) return
    const resolution = approvalResolution(event.payload, event.createdAt)
    this.list.replace(approvalKey(approvalId), { ...found, state, resolution })
    const { callId } = found.request
    if (callId !== undefined && this.approvalOfCall.get(callId) === approvalId)
      this.releaseCall(callId, event.payload.requestedInput ?? found.request.input, event)
  }

  /** The call no longer waits. With an edited input it runs that input. */
  private releaseCall(callId: string, requested: unknown, event: EventOf<"run.approval.resolved">): void {
    this.approvalOfCall.delete(callId)
    const call = this.list.find(callKey(callId), "tool")
    if (call === undefined) return
    const edited = event.payload.allowedInput
    const allowedInput = jsonText(edited, event.seq) ?? call.allowedInput
    const label = edited === undefined ? call.label : editedLabel(call.label, requested, edited)
    this.list.replace(callKey(callId), { ...call, isWaiting: false, allowedInput, label })
  }

  /** The end of the run marks the last warning as repeated if both have the same message. */
  private warn(event: RunEvent, message: string): void {
    this.lastWarning = message
    const block = { kind: "warning", code: event.type, message, isRepeated: false } as const
    this.list.push({ ...startOf(event), ...block }, LAST_WARNING)
  }

  private end(
    event: EventOf<TerminalType>,
    { by, error, reason, state, stopped }: Pick<EndBlock, "state"> & Partial<EndBlock>
  ): void {
    this.pending.clear()
    this.pendingInputs.clear()
    this.outstanding.clear()
    this.isIdle = false
    this.isPaused = false
    this.state = state
    const warning = this.list.find(LAST_WARNING, "warning")
    if (warning !== undefined && error !== undefined && error.message === this.lastWarning)
      this.list.replace(LAST_WARNING, { ...warning, isRepeated: true })
    const { usage = this.usage } = event.payload
    this.usage = usage
    this.list.push({ kind: "end", ...startOf(event), state, error, reason, by, usage, stopped })
  }
}

const LAST_WARNING = "warning"

const startOf = ({ createdAt: at, seq }: RunEvent) => ({ seq, at })

const messageKey = ({ channel, messageId }: PayloadOf<"run.message.delta">): string =>
  `message ${channel} ${messageId}`
const callKey = (callId: string): string => `call ${callId}`
const inputKey = (inputId: string): string => `input ${inputId}`
const workKey = (workId: string): string => `work ${workId}`
const approvalKey = (approvalId: string): string => `approval ${approvalId}`

/** A text that may already be truncated in the event. */
const payloadText = (text: string, seq: number, totalBytes = 0): BoundedText =>
  boundText(text, seq, Math.max(text.length, totalBytes))

/** An output is read from its end. One that is cut in its event has its start, too; the rest is in its artifact only. */
const outputText = (text: string, seq: number, totalBytes: number | undefined): BoundedText =>
  totalBytes === undefined
    ? boundTextEnd({ text, size: text.length, from: seq, to: seq, skipped: 0 })
    : boundTextEnds(text, seq, totalBytes)

const jsonText = (value: unknown, seq: number): BoundedText | undefined =>
  value === undefined ? undefined : boundText(JSON.stringify(value, null, 2) ?? "", seq)
