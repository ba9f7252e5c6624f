/**
 * Updates of one run for an editor, from its events.
 *
 * Guarantees: a call is announced before it is updated. A text is sent once: what streamed is not repeated with the whole message.
 * Does not: ask. The pending approvals and questions are those of `approvals` and `inputs`.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { refusalHint } from "@corral/domain/run/ConfinementText"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { approvalResolution, inputResolution } from "@corral/domain/run/Resolution"
import type { RunMode, Usage } from "@corral/domain/run/Run"
import type { EventOf, RunEvent } from "@corral/domain/run/RunEvent"
import { RunView } from "@corral/domain/run/RunView"
import { blockRows } from "../chat/BlockRows.ts"
import { inputResolutionLine, requestLines } from "../question/QuestionLines.ts"
import { backgroundText, contentLines, leftOutText, resolutionLine } from "../run/EventLines.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { codeBlock, paragraph, patchDiffs, plainRows, textBlock, textContent } from "./Content.ts"
import { ToolCalls, toolKindOf } from "./ToolCalls.ts"

type Updates = ReadonlyArray<SessionUpdate>

export interface RunUpdatesOptions {
  readonly runId: string
  /** Name of a user, by the id that events have. */
  readonly nameOf: (user: string) => string
  /** Absolute path of a file of the workspace, as the editor knows it. */
  readonly pathOf: (path: string) => string
  /** Whether a message to the run in progress came from this editor, which shows it already. */
  readonly isOwnMessage: (text: string) => boolean
  /** Whether a prompt of this editor waits for the end of the run: its answer has the failure. */
  readonly isPromptOfEditor: () => boolean
}

/** Rows are not wrapped: the editor does. */
const COLUMNS = 100_000
/** Messages that stream at a time. */
const MAX_STREAMS = 1_000

export class RunUpdates {
  readonly calls: ToolCalls
  /** Approvals that need a decision. */
  readonly approvals = new Map<string, ApprovalRequest>()
  /** Questions that need an answer. */
  readonly inputs = new Map<string, RequestedInput>()
  mode: RunMode = "ask"
  /** Tokens of the run so far. */
  usage: Usage | undefined
  private readonly view = new RunView()
  private readonly options: RunUpdatesOptions
  /** Characters of a message that were sent, by message. */
  private readonly sent = new Map<string, number>()
  private hasText = false

  constructor(options: RunUpdatesOptions) {
    this.options = options
    this.calls = new ToolCalls(options.runId)
  }

  get outstanding(): ReadonlyArray<string> {
    return [...this.view.outstanding.values()]
  }

  apply(sequenced: SequencedEvent): Updates {
    const { decoded, missing } = sequenced
    const title = this.workTitle(decoded._tag === "KnownEvent" ? decoded.event : undefined)
    this.view.apply(sequenced)
    if (decoded._tag !== "KnownEvent") return []
    const gap =
      missing === undefined
        ? []
        : [
            paragraph(
              `${decoded.event.id} gap`,
              `Events ${missing.from} to ${missing.to} are no longer available.`
            )
          ]
    return [...gap, ...this.updatesOf(decoded.event, title)]
  }

  private updatesOf(event: RunEvent, workTitle: string | undefined): Updates {
    switch (event.type) {
      case "run.created":
        this.mode = event.payload.mode
        return this.lines(event)
      case "run.message.delta":
        return this.delta(event)
      case "run.message.completed":
        return this.message(event)
      case "run.tool.call":
      case "run.tool.result":
      case "run.file.read":
      case "run.file.changed":
      case "run.patch.proposed":
        return this.call(event)
      case "run.approval.requested":
        return this.approval(event)
      case "run.approval.resolved":
        return this.decision(event)
      case "run.input.requested":
        this.inputs.set(event.payload.inputId, event.payload.request)
        return [paragraph(event.id, plainRows(requestLines(event.payload.request)))]
      case "run.input.resolved":
        return this.answer(event)
      case "run.steps.updated":
        return this.steps(event)
      case "run.work.ended":
        return [paragraph(event.id, `${escapeLine(workTitle ?? "background work")}: ${event.payload.state}`)]
      case "run.turn.ended":
        return this.turnEnd(event)
      case "run.diff.ready":
        return this.diff(event)
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
        return this.end(event)
      default:
        return this.lines(event)
    }
  }

  /** A line as in a chat, where the event begins a block that is shown as lines. */
  private lines(event: RunEvent): Updates {
    const block = this.view.blocks.at(-1)
    if (block?.seq !== event.seq) return []
    const text = plainRows(blockRows(block, { columns: COLUMNS, nameOf: this.options.nameOf })).trim()
    return text === "" ? [] : [paragraph(event.id, text)]
  }

  private workTitle(event: RunEvent | undefined): string | undefined {
    return event?.type === "run.work.ended" ? this.view.outstanding.get(event.payload.workId) : undefined
  }

  private delta({ payload }: EventOf<"run.message.delta">): Updates {
    const { channel, messageId, parentCallId, text } = payload
    // The text of a sub-agent is content of its call, once it is whole.
    if (parentCallId !== undefined || text === "") return []
    const [oldest] = this.sent.size >= MAX_STREAMS ? this.sent.keys() : []
    if (oldest !== undefined) this.sent.delete(oldest)
    this.sent.set(messageId, (this.sent.get(messageId) ?? 0) + text.length)
    if (channel === "text") this.hasText = true
    return [this.chunk(channel, messageId, text)]
  }

  private chunk(channel: "text" | "reasoning", messageId: string, text: string): SessionUpdate {
    return {
      sessionUpdate: channel === "text" ? "agent_message_chunk" : "agent_thought_chunk",
      messageId: `${this.options.runId}/${messageId}`,
      content: textBlock(text)
    }
  }

  private message(event: EventOf<"run.message.completed">): Updates {
    const { channel, messageId, parentCallId, role, text } = event.payload
    const rest = text.slice(this.sent.get(messageId) ?? 0)
    this.sent.delete(messageId)
    if (role === "user") {
      const isShown = rest === "" || this.options.isOwnMessage(text)
      return isShown ? [] : [{ sessionUpdate: "user_message_chunk", content: textBlock(text) }]
    }
    if (rest === "") return []
    if (parentCallId !== undefined) return [this.calls.set(parentCallId, { content: [textContent(rest)] })]
    if (role === "system") return [paragraph(event.id, rest)]
    if (channel === "text") this.hasText = true
    return [this.chunk(channel, messageId, rest)]
  }

  private call(
    event: EventOf<
      "run.tool.call" | "run.tool.result" | "run.file.read" | "run.file.changed" | "run.patch.proposed"
    >
  ): Updates {
    const { pathOf } = this.options
    switch (event.type) {
      case "run.tool.call": {
        const { callId, input, label, parentCallId: parent, tool } = event.payload
        const title = escapeLine(label === "" ? tool : label)
        const call = { title, name: tool, kind: toolKindOf(tool), rawInput: input, parent }
        return [this.calls.set(callId, { ...call, status: "in_progress" })]
      }
      case "run.tool.result":
        return this.result(event)
      case "run.file.read":
      case "run.file.changed": {
        const { callId, path } = event.payload
        if (callId === undefined) return this.lines(event)
        const kind = event.type === "run.file.read" ? undefined : ("edit" as const)
        return [this.calls.set(callId, { paths: [pathOf(path)], ...(kind === undefined ? {} : { kind }) })]
      }
      case "run.patch.proposed": {
        const { callId = event.id, parentCallId: parent, patch, path } = event.payload
        const content = patchDiffs(pathOf(path), patch)
        const isCall = event.payload.callId !== undefined
        const whole = isCall ? {} : { title: `Change ${escapeLine(path)}`, status: "completed" as const }
        return [this.calls.set(callId, { ...whole, kind: "edit", paths: [pathOf(path)], content, parent })]
      }
    }
  }

  private result({ payload }: EventOf<"run.tool.result">): Updates {
    const { callId, content: parts, exitCode, kernelRefusal, output = "", parentCallId, status } = payload
    const texts = [
      ...(status === "denied" || status === "cancelled" ? [status] : []),
      ...(output === "" ? [] : [codeBlock(output)]),
      ...contentLines(parts),
      ...(exitCode === undefined || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
      ...(kernelRefusal === undefined ? [] : [refusalHint(kernelRefusal)])
    ]
    const title = this.calls.has(callId)
      ? {}
      : { title: escapeLine(payload.tool), kind: toolKindOf(payload.tool) }
    return [
      this.calls.set(callId, {
        ...title,
        status: status === "completed" ? "completed" : "failed",
        content: texts.map(textContent),
        parent: parentCallId
      })
    ]
  }

  /** The call of an approval: the tool call that asks, or one for the approval alone. */
  callOfApproval(approvalId: string, { callId }: ApprovalRequest): string {
    return callId ?? approvalId
  }

  private approval({ payload }: EventOf<"run.approval.requested">): Updates {
    const { approvalId, request } = payload
    this.approvals.set(approvalId, request)
    const callId = this.callOfApproval(approvalId, request)
    const title = this.calls.has(callId) ? {} : { title: escapeLine(request.title) }
    return [this.calls.set(callId, { ...title, status: "pending", parent: request.parentCallId })]
  }

  private decision(event: EventOf<"run.approval.resolved">): Updates {
    const { approvalId, origin, state } = event.payload
    const request = this.approvals.get(approvalId)
    this.approvals.delete(approvalId)
    if (request === undefined) return []
    const callId = this.callOfApproval(approvalId, request)
    const isAllowed = state === "approved"
    const after = request.callId === undefined ? "completed" : "in_progress"
    const call = this.calls.set(callId, { status: isAllowed ? after : "failed" })
    if (origin === undefined || origin === "policy") return [call]
    const line = resolutionLine(approvalResolution(event.payload, event.createdAt), this.options.nameOf)
    return [call, paragraph(event.id, `${escapeLine(request.title)}: ${plainRows([line])}`)]
  }

  private answer(event: EventOf<"run.input.resolved">): Updates {
    const { inputId } = event.payload
    const request = this.inputs.get(inputId)
    this.inputs.delete(inputId)
    const resolution = inputResolution(event.payload, event.createdAt)
    const line = plainRows([inputResolutionLine(request, resolution, this.options.nameOf)])
    return [paragraph(event.id, request === undefined ? line : `${escapeLine(request.title)}: ${line}`)]
  }

  private steps({ payload }: EventOf<"run.steps.updated">): Updates {
    const { parentCallId, steps } = payload
    if (parentCallId !== undefined) {
      const lines = steps.map(({ state, text }) => `- ${state}: ${escapeLine(text)}`)
      return [this.calls.set(parentCallId, { content: [textContent(lines.join("\n"))] })]
    }
    return [
      {
        sessionUpdate: "plan",
        entries: steps.map(({ state, text }) => ({
          content: state === "cancelled" ? `Cancelled: ${text}` : text,
          priority: "medium",
          status: state === "cancelled" ? "completed" : state
        }))
      }
    ]
  }

  private turnEnd(event: EventOf<"run.turn.ended">): Updates {
    const { outstanding, text, usage } = event.payload
    this.usage = usage ?? this.usage
    return [
      ...this.finalText(event.id, text),
      ...(outstanding === 0
        ? []
        : [paragraph(`${event.id} work`, backgroundText(outstanding, this.outstanding))])
    ]
  }

  /** The text of a turn, if no message had it. */
  private finalText(id: string, text: string | undefined): Updates {
    const hadText = this.hasText
    this.hasText = false
    return hadText || text === undefined || text === "" ? [] : [this.chunk("text", id, text)]
  }

  private diff({ id, payload }: EventOf<"run.diff.ready">): Updates {
    const { additions, deletions, files, leftOut } = payload
    const changed = `${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}`
    return [paragraph(id, `${changed}${leftOutText(leftOut)}`)]
  }

  private end(event: EventOf<"run.completed" | "run.failed" | "run.cancelled">): Updates {
    this.usage = event.payload.usage ?? this.usage
    this.approvals.clear()
    this.inputs.clear()
    const text = event.type === "run.completed" ? event.payload.text : undefined
    return [...this.calls.closeAll(), ...this.finalText(event.id, text), ...this.endLines(event)]
  }

  /** How the run ended, where the answer to the prompt does not say it. */
  private endLines(event: EventOf<"run.completed" | "run.failed" | "run.cancelled">): Updates {
    if (event.type === "run.completed") {
      const stopped = (event.payload.stopped ?? []).map(escapeLine)
      return stopped.length === 0 ? [] : [paragraph(event.id, `finished; stopped: ${stopped.join(", ")}`)]
    }
    return event.type === "run.failed" && this.options.isPromptOfEditor() ? [] : this.lines(event)
  }
}
