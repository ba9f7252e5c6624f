/**
 * Text of a run's events for a terminal or a file.
 *
 * Live, for a terminal: text as it streams, dimmed reasoning, the line of a tool call rewritten when the call ends; also without colours.
 * Plain, for files and pipes: whole lines without escape codes. Programs read `--json`. All text of an agent passes `escapeControls`.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import { confinementText, refusalHint } from "@corral/domain/run/ConfinementText"
import { type EventHandlers, handleEvent } from "@corral/domain/run/EventTable"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { approvalResolution } from "@corral/domain/run/Resolution"
import { withoutTrailing } from "@corral/domain/text/Trailing"
import { approvalBlock } from "./ApprovalBlock.ts"
import type { TailedEvent } from "./EventTail.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { pauseLine } from "./PauseLine.ts"
import { protectedLine } from "./ProtectedLine.ts"
import { resolutionLine } from "./ResolutionLine.ts"
import { retryLine } from "./RetryLine.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import { paintRow } from "../terminal/WrapText.ts"

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
  /** Text of incomplete messages, by message id. */
  readonly #messages = new Map<string, { readonly channel: "text" | "reasoning"; text: string }>()
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
    "run.created": (to, { agentId = "", payload: { confinement, mode, workspace }, runId }) => {
      const limits = confinement === undefined ? "" : ` · ${escapeLine(confinementText(confinement, mode))}`
      return to.#line(`${to.#paint("bold", runId)} · ${agentId} in ${workspace} · ${mode}${limits}`)
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
    "run.file.changed": (to, { payload: { change, fromPath, path } }) =>
      to.#line(
        `  ${change} ${fromPath === undefined ? "" : `${escapeLine(fromPath)} → `}${escapeLine(path)}`
      ),
    "run.diff.ready": (to, { payload: { additions, deletions, files } }) =>
      to.#line(`  ${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}`),
    "run.protected.changed": (to, { payload }) => to.#warning(protectedLine(payload)),
    // Shown by the approval.
    "run.patch.proposed": () => "",
    "run.artifact.ready": (to, { payload: { name, size } }) =>
      to.#line(`  artifact ${escapeLine(name)} (${size} bytes)`),
    "run.preview.ready": (to, { payload }) => to.#line(`  preview ${escapeLine(payload.title)}`),
    "run.approval.requested": (to, { payload: { approvalId, expiresAt, request } }) =>
      to.#approvalRequest(approvalId, request, expiresAt),
    "run.approval.resolved": (to, { payload }) => to.#resolution(payload),
    "runtime.unavailable": (to, { payload }) => to.#warning(escapeLine(payload.message)),
    "runtime.retrying": (to, { payload }) => to.#warning(retryLine(payload)),
    "runtime.timeout": (to, { payload: { afterMs, kind } }) =>
      to.#warning(`timeout (${kind}) after ${afterMs / 1_000} s`),
    "schema.validation_failed": (to, { payload }) =>
      to.#line(to.#paint("dim", `unreadable output: ${escapeLine(payload.message)}`)),
    "run.completed": (to, { payload }) =>
      to.#end(`${to.#paint("green", "completed")}${to.#usage(payload.usage)}`),
    "run.failed": (to, { payload: { error } }) => {
      const code = to.#paint("dim", `(${escapeLine(error.code)})`)
      return to.#end(`${to.#paint("red", "failed")}: ${escapeControls(error.message)} ${code}`)
    },
    "run.cancelled": (to, { payload: { reason } }) =>
      to.#end(`${to.#paint("yellow", "cancelled")}${reason === undefined ? "" : `: ${escapeLine(reason)}`}`),
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

  #line(text: string): string {
    return `${this.#fresh()}${text}\n`
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

  #delta({ messageId, channel, text }: PayloadOf<"run.message.delta">): string {
    const message = this.#messages.get(messageId)
    if (message === undefined) this.#messages.set(messageId, { channel, text })
    else message.text += text
    if (!this.#live) return ""
    const begins = message === undefined || this.#cursor.at !== "text"
    const before = begins ? this.#fresh() : ""
    this.#cursor = { at: "text" }
    return before + this.#styled(channel, text, begins)
  }

  #message({ messageId, channel, role, text, truncated }: PayloadOf<"run.message.completed">): string {
    const streamed = this.#live && this.#messages.has(messageId)
    this.#messages.delete(messageId)
    if (streamed) return this.#fresh()
    const more = truncated === true ? " […]" : ""
    const who = role === "assistant" ? "" : `${role}: `
    return this.#line(this.#styled(channel, who + withoutTrailing(text, "\n") + more))
  }

  /** Reasoning is dimmed. Without colours it is labelled where it begins. */
  #styled(channel: "text" | "reasoning", text: string, begins = true): string {
    if (channel === "text") return escapeControls(text)
    return this.#colours
      ? this.#paint("dim", escapeControls(text))
      : `${begins ? "reasoning: " : ""}${escapeControls(text)}`
  }

  #call({ callId, tool, label }: PayloadOf<"run.tool.call">): string {
    const shown = escapeLine(label === "" ? tool : label)
    this.#labels.set(callId, shown)
    if (!this.#live) return this.#line(`tool: ${shown}`)
    const text = `${this.#fresh()}${this.#paint("cyan", "›")} ${shown}`
    this.#cursor = { at: "call", callId }
    return text
  }

  #result({ callId, tool, status, exitCode, kernelRefusal, output }: PayloadOf<"run.tool.result">): string {
    const shown = this.#labels.get(callId) ?? escapeLine(tool)
    this.#labels.delete(callId)
    const code = exitCode === undefined || exitCode === 0 ? "" : `, exit code ${exitCode}`
    const hint = kernelRefusal === undefined ? "" : `\n${indent(refusalHint(kernelRefusal))}`
    const why = (status === "failed" && output?.trim() ? `\n${indent(firstLines(output))}` : "") + hint
    if (!this.#live) return this.#line(`tool: ${shown}: ${status}${code}${why}`)
    const text = `${this.#paint(tints[status], marks[status])} ${shown}${code}${why === "" ? "" : this.#paint("dim", why)}`
    const isAtCall = this.#cursor.at === "call" && this.#cursor.callId === callId
    if (isAtCall) this.#cursor = start
    return isAtCall ? `${ERASE_LINE}${text}\n` : this.#line(text)
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

  /** The requested and the allowed input. From now on the label of the call says that the input was edited. */
  #edit({
    allowedInput,
    approvalId,
    requestedInput
  }: PayloadOf<"run.approval.resolved">): ReadonlyArray<string> {
    const callId = this.#callOfApproval.get(approvalId)
    this.#callOfApproval.delete(approvalId)
    if (allowedInput === undefined) return []
    const label = callId === undefined ? undefined : this.#labels.get(callId)
    if (callId !== undefined && label !== undefined) this.#labels.set(callId, `${label} (input edited)`)
    return inputChanges(requestedInput, allowedInput).flatMap(({ allowed, name, requested }) => [
      side(`requested ${name}`, requested),
      side(`allowed ${name}`, allowed)
    ])
  }

  /** The last line, after messages that were never completed. */
  #end(text: string): string {
    const rest = this.#live
      ? ""
      : [...this.#messages.values()].map(({ channel, text }) => this.#line(this.#styled(channel, text)))
    this.#messages.clear()
    return `${[...rest].join("")}${this.#line(text)}`
  }

  #usage(usage: PayloadOf<"run.completed">["usage"]): string {
    const { inputTokens, outputTokens, costUsd } = usage ?? {}
    const parts = [
      ...(inputTokens === undefined ? [] : [`${inputTokens} tokens in`]),
      ...(outputTokens === undefined ? [] : [`${outputTokens} out`]),
      ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(4)}`])
    ]
    return parts.length === 0 ? "" : this.#paint("dim", ` · ${parts.join(", ")}`)
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

const firstLines = (output: string): string => {
  const lines = escapeControls(output).trimEnd().split("\n")
  return lines.length <= SHOWN_LINES ? lines.join("\n") : [...lines.slice(0, SHOWN_LINES), "…"].join("\n")
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ")
