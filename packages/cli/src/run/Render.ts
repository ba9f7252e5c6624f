/**
 * Text of a run's events for a terminal or a file.
 *
 * Live, for a terminal: text as it streams, dimmed reasoning, the line of a tool call rewritten when the call ends; also without colours.
 * Plain, for files and pipes: whole lines without escape codes. Programs read `--json`. All text of an agent passes `escapeControls`. What a
 * sub-agent does is indented below the call that started it, and its text comes when it is complete.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import { editedLabel } from "@corral/domain/run/EditedLabel"
import { confinementText, refusalHint } from "@corral/domain/run/ConfinementText"
import { type EventHandlers, handleEvent } from "@corral/domain/run/EventTable"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { approvalResolution, inputResolution } from "@corral/domain/run/Resolution"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { Step } from "@corral/domain/run/Work"
import { withoutTrailing } from "@corral/domain/text/Cut"
import { inputBlock, inputResolutionLine } from "../question/QuestionLines.ts"
import { approvalBlock } from "./ApprovalBlock.ts"
import {
  backgroundText,
  changedStepRows,
  contentLines,
  failureLines,
  isolationText,
  leftOutText,
  pauseLine,
  protectedLine,
  repositoryLine,
  resolutionLine,
  retryLine,
  unknownChangesLine,
  usageLine
} from "./EventLines.ts"
import type { TailedEvent } from "./EventTail.ts"
import { makePaint, type Paint, paintRow } from "../terminal/Rows.ts"
import { ENDS_WITH_EDGE } from "@corral/domain/run/RunEnd"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

export interface RenderOptions {
  readonly live: boolean
  readonly colours: boolean
  /** Command name, for suggested commands. */
  readonly invocation: string
  /** Flags that select the server, each after a space. */
  readonly named: string
  /** What to call a user. */
  readonly nameOf: (user: string) => string
}

const ERASE_LINE = "\r\u001b[2K"

const marks = { completed: "✓", failed: "✗", denied: "✗", cancelled: "–" } as const
const tints = { completed: "green", failed: "red", denied: "yellow", cancelled: "dim" } as const

/** Deepest indentation of sub-agents. */
const MAX_DEPTH = 4

interface OpenMessage {
  readonly channel: "text" | "reasoning"
  readonly parentCallId: string | undefined
  text: string
}

export class Renderer {
  readonly #live: boolean
  readonly #colours: boolean
  readonly #invocation: string
  readonly #named: string
  readonly #nameOf: (user: string) => string
  readonly #paint: Paint
  /** Tool calls by the approval that they need. */
  readonly #callOfApproval = new Map<string, string>()
  /** Labels of tool calls without a result. */
  readonly #labels = new Map<string, string>()
  /** How many sub-agents are around what a call does, by call. */
  readonly #depths = new Map<string, number>()
  readonly #questions = new Map<string, RequestedInput>()
  /** Whether what the run changes waits to be accepted. */
  #waits = false
  /** Titles of work in the background, by id. */
  readonly #work = new Map<string, string>()
  /** The last list of steps, by the call of its sub-agent. */
  readonly #steps = new Map<string, ReadonlyArray<Step>>()
  /** Text of incomplete messages, by message id. */
  readonly #messages = new Map<string, OpenMessage>()
  /** Where the cursor is: at the start of a line, after streamed text, or on the line of a tool call. */
  #cursor:
    | { readonly at: "start" }
    | { readonly at: "text" }
    | { readonly at: "call"; readonly callId: string } = start

  constructor({ live, colours, invocation, named, nameOf }: RenderOptions) {
    this.#live = live
    this.#colours = colours
    this.#invocation = invocation
    this.#named = named
    this.#nameOf = nameOf
    this.#paint = makePaint(colours)
  }

  /** The text to print for this event; empty if the event is not shown. */
  render({ decoded }: Pick<TailedEvent, "decoded">): string {
    return decoded._tag === "KnownEvent" ? handleEvent(Renderer.rendering, this, decoded.event) : ""
  }

  private static readonly rendering: EventHandlers<Renderer, string> = {
    "run.created": (to, { agentId = "", payload, runId }) => {
      const { confinement, endsWithEdge, mode, workspace } = payload
      const place = isolationText(payload)
      to.#waits = place !== undefined
      const facts = [mode, place, confinement && escapeLine(confinementText(confinement, mode))]
      const shown = facts.filter((fact) => fact !== undefined).join(" · ")
      const line = to.#line(`${to.#paint("bold", runId)} · ${agentId} in ${workspace} · ${shown}`)
      return endsWithEdge === undefined ? line : line + to.#warning(ENDS_WITH_EDGE)
    },
    "run.started": (to, { payload }) => to.#started(payload),
    "run.paused": (to, { payload }) => to.#pause("paused", payload),
    "run.resumed": (to, { payload }) => to.#pause("resumed", payload),
    "run.message.delta": (to, { payload }) => to.#delta(payload),
    "run.message.completed": (to, { payload }) => to.#message(payload),
    "run.tool.call": (to, { payload }) => to.#call(payload),
    "run.tool.result": (to, { payload }) => to.#result(payload),
    // Shown by the tool call.
    "run.file.read": () => "",
    "run.file.changed": (to, { payload: { change, fromPath, parentCallId, path } }) =>
      to.#line(
        `  ${change} ${fromPath === undefined ? "" : `${escapeLine(fromPath)} → `}${escapeLine(path)}`,
        parentCallId
      ),
    "run.diff.ready": (to, { payload: { additions, deletions, files, leftOut }, runId }) => {
      const counts = `  ${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}${leftOutText(leftOut)}`
      const command = `${to.#invocation} changes ${runId}${to.#named}`
      return to.#line(counts) + (to.#waits ? to.#line(`  accept or reject: ${command}`) : "")
    },
    "run.changes.unknown": (to, { payload }) => to.#warning(unknownChangesLine(payload)),
    "run.protected.changed": (to, { payload }) => to.#warning(protectedLine(payload)),
    "run.repository.changed": (to, { payload }) => to.#warning(repositoryLine(payload)),
    // Shown by the approval.
    "run.patch.proposed": () => "",
    "run.artifact.ready": (to, { payload: { name, size } }) =>
      to.#line(`  artifact ${escapeLine(name)} (${size} bytes)`),
    "run.preview.ready": (to, { payload }) => to.#line(`  preview ${escapeLine(payload.title)}`),
    "run.approval.requested": (to, { payload: { approvalId, expiresAt, request } }) =>
      to.#approvalRequest(approvalId, request, expiresAt),
    "run.approval.resolved": (to, { payload }) => to.#resolution(payload),
    "run.input.requested": (to, { payload }) => to.#inputRequest(payload),
    "run.input.resolved": (to, { payload }) => to.#inputResolution(payload),
    "run.work.started": (to, { payload: { parentCallId, title, workId } }) => {
      to.#work.set(workId, escapeLine(title))
      return to.#line(to.#paint("dim", `  in the background: ${escapeLine(title)}`), parentCallId)
    },
    "run.work.ended": (to, { payload: { state, workId } }) => {
      const title = to.#work.get(workId)
      to.#work.delete(workId)
      return to.#line(to.#paint("dim", `  ${title ?? "background work"}: ${state}`))
    },
    "run.turn.started": (to, { payload: { by } }) =>
      by === "program" ? to.#line(to.#paint("dim", "the agent continues")) : "",
    "run.turn.ended": (to, { payload: { outstanding } }) =>
      outstanding === 0
        ? ""
        : to.#line(to.#paint("cyan", backgroundText(outstanding, [...to.#work.values()]))),
    // The end of the run shows the whole usage.
    "run.usage.updated": () => "",
    "run.steps.updated": (to, { payload }) => to.#stepList(payload),
    "run.notice": (to, { payload: { parentCallId, text } }) =>
      to.#line(to.#paint("yellow", escapeLine(text)), parentCallId),
    "runtime.unavailable": (to, { payload }) => to.#warning(escapeLine(payload.message)),
    "runtime.retrying": (to, { payload }) => to.#warning(retryLine(payload)),
    "runtime.timeout": (to, { payload: { afterMs, kind } }) =>
      to.#warning(`timeout (${kind}) after ${afterMs / 1_000} s`),
    "schema.validation_failed": (to, { payload }) =>
      to.#line(to.#paint("dim", `unreadable output: ${escapeLine(payload.message)}`)),
    "run.completed": (to, { payload: { stopped = [], usage } }) => {
      const ended = stopped.length === 0 ? "" : `; stopped: ${stopped.map(escapeLine).join(", ")}`
      return to.#end(`${to.#paint("green", "completed")}${ended}${to.#usage(usage)}`)
    },
    "run.failed": (to, { payload: { error, usage } }) => {
      const code = to.#paint("dim", `(${escapeLine(error.code)})`)
      const lines = failureLines(error).map((line) => `\n  ${to.#paint("dim", line)}`)
      return to.#end(
        `${to.#paint("red", "failed")}: ${escapeControls(error.message)} ${code}${to.#usage(usage)}${lines.join("")}`
      )
    },
    "run.cancelled": (to, { payload: { reason, usage } }) =>
      to.#end(
        `${to.#paint("yellow", "cancelled")}${reason === undefined ? "" : `: ${escapeLine(reason)}`}${to.#usage(usage)}`
      ),
    // Events of chats have no run to show.
    "integration.message.received": () => "",
    "integration.card.action": () => "",
    "identity.binding.required": () => ""
  }

  /** Starts a new line unless the cursor is at the start of one. */
  #fresh(): string {
    const { at } = this.#cursor
    this.#cursor = start
    return at === "start" ? "" : "\n"
  }

  /** Whole lines, indented below the call of a sub-agent. */
  #line(text: string, parentCallId?: string): string {
    return `${this.#fresh()}${this.#nested(text, parentCallId)}\n`
  }

  #nested(text: string, parentCallId: string | undefined): string {
    const depth = parentCallId === undefined ? 0 : (this.#depths.get(parentCallId) ?? 0) + 1
    return depth === 0 ? text : text.replaceAll(/^/gm, "  ".repeat(Math.min(depth, MAX_DEPTH)))
  }

  #warning(text: string): string {
    return this.#line(this.#paint("yellow", text))
  }

  #pause(change: "paused" | "resumed", { by, reason }: PayloadOf<"run.paused">): string {
    return this.#line(paintRow(pauseLine({ change, by, reason }, this.#nameOf), this.#paint))
  }

  #started({ model, projectSettings, runtimeVersion }: PayloadOf<"run.started">): string {
    const version = runtimeVersion === undefined ? undefined : `version ${runtimeVersion}`
    const details = [model, version].filter((part) => part !== undefined).join(", ")
    const started = escapeLine(details === "" ? "started" : `started (${details})`)
    const first = this.#line(this.#paint("dim", started))
    if (projectSettings === undefined) return first
    const settings = `project settings ${projectSettings.use}: ${projectSettings.files.join(", ")}`
    return first + this.#line(this.#paint("dim", escapeLine(settings)))
  }

  #delta({ messageId, channel, parentCallId, text }: PayloadOf<"run.message.delta">): string {
    const message = this.#messages.get(messageId)
    if (message === undefined) this.#messages.set(messageId, { channel, text, parentCallId })
    else message.text += text
    if (!this.#live || parentCallId !== undefined) return ""
    const begins = message === undefined || this.#cursor.at !== "text"
    const before = begins ? this.#fresh() : ""
    this.#cursor = { at: "text" }
    return before + this.#styled(channel, text, begins)
  }

  #message(payload: PayloadOf<"run.message.completed">): string {
    const { messageId, channel, parentCallId, role, text, truncated } = payload
    const streamed = this.#live && parentCallId === undefined && this.#messages.has(messageId)
    this.#messages.delete(messageId)
    if (streamed) return this.#fresh()
    const more = truncated === true ? " […]" : ""
    const who = role === "assistant" ? "" : `${role}: `
    return this.#line(this.#styled(channel, who + withoutTrailing(text, "\n") + more), parentCallId)
  }

  /** Reasoning is dimmed. Without colours it is labelled where it begins. */
  #styled(channel: "text" | "reasoning", text: string, begins = true): string {
    if (channel === "text") return escapeControls(text)
    return this.#colours
      ? this.#paint("dim", escapeControls(text))
      : `${begins ? "reasoning: " : ""}${escapeControls(text)}`
  }

  #call({ callId, tool, label, parentCallId }: PayloadOf<"run.tool.call">): string {
    const shown = escapeLine(label === "" ? tool : label)
    this.#labels.set(callId, shown)
    if (parentCallId !== undefined) this.#depths.set(callId, (this.#depths.get(parentCallId) ?? 0) + 1)
    if (!this.#live) return this.#line(`tool: ${shown}`, parentCallId)
    const text = `${this.#fresh()}${this.#nested(`${this.#paint("cyan", "›")} ${shown}`, parentCallId)}`
    this.#cursor = { at: "call", callId }
    return text
  }

  #result(payload: PayloadOf<"run.tool.result">): string {
    const { callId, content, exitCode, kernelRefusal, output, parentCallId, status, tool } = payload
    const shown = this.#labels.get(callId) ?? escapeLine(tool)
    this.#labels.delete(callId)
    const code = exitCode === undefined || exitCode === 0 ? "" : `, exit code ${exitCode}`
    const hint = kernelRefusal === undefined ? "" : `\n${indent(refusalHint(kernelRefusal))}`
    const parts = contentLines(content).map((line) => `\n    ${line}`)
    const why =
      (status === "failed" && output?.trim() ? `\n${indent(lastLines(output))}` : "") + parts.join("") + hint
    if (!this.#live) return this.#line(`tool: ${shown}: ${status}${code}${why}`, parentCallId)
    const text = `${this.#paint(tints[status], marks[status])} ${shown}${code}${why === "" ? "" : this.#paint("dim", why)}`
    const isAtCall = this.#cursor.at === "call" && this.#cursor.callId === callId
    if (isAtCall) this.#cursor = start
    return isAtCall ? `${ERASE_LINE}${this.#nested(text, parentCallId)}\n` : this.#line(text, parentCallId)
  }

  #inputRequest({ expiresAt, inputId, request }: PayloadOf<"run.input.requested">): string {
    this.#questions.set(inputId, request)
    const block = inputBlock({
      inputId,
      request,
      expiresAt,
      invocation: this.#invocation,
      named: this.#named,
      paint: this.#paint
    })
    return `${this.#fresh()}${block}`
  }

  #inputResolution(payload: PayloadOf<"run.input.resolved">): string {
    const request = this.#questions.get(payload.inputId)
    this.#questions.delete(payload.inputId)
    const line = inputResolutionLine(request, inputResolution(payload, ""), this.#nameOf)
    return this.#line(`${paintRow(line, this.#paint)} ${this.#paint("dim", `(${payload.inputId})`)}`)
  }

  #stepList({ parentCallId, steps }: PayloadOf<"run.steps.updated">): string {
    const list = parentCallId ?? ""
    const rows = changedStepRows(this.#steps.get(list) ?? [], steps)
    this.#steps.set(list, steps)
    if (rows.length === 0) return ""
    return this.#line(rows.map((row) => paintRow(row, this.#paint)).join("\n"), parentCallId)
  }

  #approvalRequest(approvalId: string, request: ApprovalRequest, expiresAt: string): string {
    if (request.callId !== undefined) this.#callOfApproval.set(approvalId, request.callId)
    const block = approvalBlock({
      approvalId,
      request,
      expiresAt,
      invocation: this.#invocation,
      named: this.#named,
      paint: this.#paint
    })
    return `${this.#fresh()}${block}`
  }

  #resolution(payload: PayloadOf<"run.approval.resolved">): string {
    const line = paintRow(resolutionLine(approvalResolution(payload, ""), this.#nameOf), this.#paint)
    const head = `${line} ${this.#paint("dim", `(${payload.approvalId})`)}`
    return this.#line([head, ...this.#edit(payload)].join("\n"))
  }

  /** The requested and the allowed input. From now on the label of the call names what runs instead. */
  #edit({
    allowedInput,
    approvalId,
    requestedInput
  }: PayloadOf<"run.approval.resolved">): ReadonlyArray<string> {
    const callId = this.#callOfApproval.get(approvalId)
    this.#callOfApproval.delete(approvalId)
    if (allowedInput === undefined) return []
    const label = callId === undefined ? undefined : this.#labels.get(callId)
    if (callId !== undefined && label !== undefined)
      this.#labels.set(callId, `${escapeLine(editedLabel(label, requestedInput, allowedInput))} (edited)`)
    return inputChanges(requestedInput, allowedInput).flatMap(({ allowed, name, requested }) => [
      side(`requested ${name}`, requested),
      side(`allowed ${name}`, allowed)
    ])
  }

  /** The last line, after messages that were never completed. */
  #end(text: string): string {
    const rest = this.#live
      ? ""
      : [...this.#messages.values()].map(({ channel, parentCallId, text }) =>
          this.#line(this.#styled(channel, text), parentCallId)
        )
    this.#messages.clear()
    return `${[...rest].join("")}${this.#line(text)}`
  }

  #usage(usage: PayloadOf<"run.completed">["usage"]): string {
    const used = usageLine(usage)
    return used === "" ? "" : this.#paint("dim", ` · ${used}`)
  }
}

const start = { at: "start" } as const

/** One side of an edited field. Text of several lines is below the name. */
const side = (name: string, value: unknown): string => {
  const text = value === undefined ? "(nothing)" : escapeControls(inputText(value)).trimEnd()
  const label = escapeLine(name.trim())
  return text.includes("\n") ? `  ${label}:\n${indent(text)}` : `  ${label}: ${text}`
}

const SHOWN_LINES = 12

/** A program says at its end why it failed. */
const lastLines = (output: string): string => {
  const lines = escapeControls(output).trimEnd().split("\n")
  return lines.length <= SHOWN_LINES ? lines.join("\n") : ["…", ...lines.slice(-SHOWN_LINES)].join("\n")
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ")
