/**
 * A run's events as text for a person: a state machine that is fed events and gives what is to be printed.
 *
 * Live, for a terminal: text as it streams, reasoning dimmed, a tool's line rewritten when it ends; the same without colours. Plain, for
 * files and pipes: whole lines, no escape codes. What it prints is for reading; `--json` is for programs. All that an agent says passes `visible`.
 */
import { withoutTrailing } from "@corral/domain/text/Trailing"
import type { ApprovalRequest, DecisionOrigin } from "@corral/domain/approval/Approval"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import type { PayloadOf, RunEvent } from "@corral/domain/run/RunEvent"
import { approvalBlock } from "./ApprovalBlock.ts"
import type { TailedEvent } from "./EventTail.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { retryLine } from "./RetryLine.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

export interface RenderOptions {
  readonly live: boolean
  readonly colours: boolean
  /** How this program is called, for the commands it suggests. */
  readonly invocation: string
  /** Flags that name where the run is, each after a space. */
  readonly named: string
}

const ERASE_LINE = "\r\u001b[2K"

const marks = { completed: "✓", failed: "✗", denied: "✗", cancelled: "–" } as const
const tints = { completed: "green", failed: "red", denied: "yellow", cancelled: "dim" } as const

export class Renderer {
  readonly #live: boolean
  readonly #colours: boolean
  readonly #invocation: string
  readonly #named: string
  readonly #paint: Paint
  /** Calls that wait for an approval, by its id. */
  readonly #awaited = new Map<string, string>()
  /** Labels of tool calls that have no result yet. */
  readonly #calls = new Map<string, string>()
  /** Text so far of messages that are not complete, by message id. */
  readonly #messages = new Map<string, { readonly channel: "text" | "reasoning"; text: string }>()
  /** What the cursor stands behind: the start of a line, streamed text, or the line of a tool call. */
  #cursor:
    | { readonly at: "start" }
    | { readonly at: "text" }
    | { readonly at: "call"; readonly callId: string } = start

  constructor({ live, colours, invocation, named }: RenderOptions) {
    this.#live = live
    this.#colours = colours
    this.#invocation = invocation
    this.#named = named
    this.#paint = makePaint(colours)
  }

  /** What to print for this event; empty for one that is not shown. */
  render({ read }: TailedEvent): string {
    return read._tag === "KnownEvent" ? this.#known(read.event) : ""
  }

  #known(event: RunEvent): string {
    const paint = this.#paint
    switch (event.type) {
      case "run.created": {
        const { workspace, mode } = event.payload
        return this.#line(`${paint("bold", event.runId)} · ${event.agentId ?? ""} in ${workspace} · ${mode}`)
      }
      case "run.started": {
        const { model, runtimeVersion } = event.payload
        const version = runtimeVersion === undefined ? undefined : `version ${runtimeVersion}`
        const about = [model, version].filter((part) => part !== undefined).join(", ")
        const started = paint("dim", escapeLine(about === "" ? "started" : `started (${about})`))
        const { projectSettings: project } = event.payload
        const settings =
          project === undefined ? "" : `project settings ${project.use}: ${project.files.join(", ")}`
        return this.#line(started) + (settings === "" ? "" : this.#line(paint("dim", escapeLine(settings))))
      }
      case "run.message.delta":
        return this.#delta(event.payload)
      case "run.message.completed":
        return this.#message(event.payload)
      case "run.tool.call":
        return this.#call(event.payload)
      case "run.tool.result":
        return this.#result(event.payload)
      case "run.file.changed": {
        const { change, fromPath, path } = event.payload
        return this.#line(
          `  ${change} ${fromPath === undefined ? "" : `${escapeLine(fromPath)} → `}${escapeLine(path)}`
        )
      }
      case "run.diff.ready": {
        const { files, additions, deletions } = event.payload
        return this.#line(`  ${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}`)
      }
      case "run.artifact.ready":
        return this.#line(`  artifact ${escapeLine(event.payload.name)} (${event.payload.size} bytes)`)
      case "run.preview.ready":
        return this.#line(`  preview ${escapeLine(event.payload.title)}`)
      case "run.approval.requested":
        return this.#asked(event.payload.approvalId, event.payload.request, event.payload.expiresAt)
      case "run.approval.resolved":
        return this.#resolved(event.payload)
      case "runtime.unavailable":
        return this.#line(paint("yellow", escapeLine(event.payload.message)))
      case "runtime.retrying":
        return this.#line(paint("yellow", retryLine(event.payload)))
      case "runtime.timeout":
        return this.#line(
          paint("yellow", `timeout (${event.payload.kind}) after ${event.payload.afterMs / 1_000} s`)
        )
      case "schema.validation_failed":
        return this.#line(paint("dim", `unreadable output: ${escapeLine(event.payload.message)}`))
      case "run.completed":
        return this.#end(`${paint("green", "completed")}${this.#usage(event.payload.usage)}`)
      case "run.failed": {
        const { code, message } = event.payload.error
        return this.#end(
          `${paint("red", "failed")}: ${escapeControls(message)} ${paint("dim", `(${escapeLine(code)})`)}`
        )
      }
      case "run.cancelled": {
        const { reason } = event.payload
        return this.#end(
          `${paint("yellow", "cancelled")}${reason === undefined ? "" : `: ${escapeLine(reason)}`}`
        )
      }
      // Reads and proposed patches are told by their tool calls and approvals; the others are no events of a run.
      default:
        return ""
    }
  }

  /** Starts a new line where the cursor is not at one. */
  #fresh(): string {
    const { at } = this.#cursor
    this.#cursor = start
    return at === "start" ? "" : "\n"
  }

  #line(text: string): string {
    return `${this.#fresh()}${text}\n`
  }

  #delta({ messageId, channel, text }: PayloadOf<"run.message.delta">): string {
    const known = this.#messages.get(messageId)
    if (known === undefined) this.#messages.set(messageId, { channel, text })
    else known.text += text
    if (!this.#live) return ""
    const begins = known === undefined || this.#cursor.at !== "text"
    const before = begins ? this.#fresh() : ""
    this.#cursor = { at: "text" }
    return before + this.#said(channel, text, begins)
  }

  #message({ messageId, channel, role, text, truncated }: PayloadOf<"run.message.completed">): string {
    const streamed = this.#live && this.#messages.has(messageId)
    this.#messages.delete(messageId)
    if (streamed) return this.#fresh()
    const more = truncated === true ? " […]" : ""
    const who = role === "assistant" ? "" : `${role}: `
    return this.#line(this.#said(channel, who + withoutTrailing(text, "\n") + more))
  }

  /** Reasoning is dimmed, or named where it begins. */
  #said(channel: "text" | "reasoning", text: string, begins = true): string {
    if (channel === "text") return escapeControls(text)
    return this.#colours
      ? this.#paint("dim", escapeControls(text))
      : `${begins ? "reasoning: " : ""}${escapeControls(text)}`
  }

  #call({ callId, tool, label }: PayloadOf<"run.tool.call">): string {
    const shown = escapeLine(label === "" ? tool : label)
    this.#calls.set(callId, shown)
    if (!this.#live) return this.#line(`tool: ${shown}`)
    const text = `${this.#fresh()}${this.#paint("cyan", "›")} ${shown}`
    this.#cursor = { at: "call", callId }
    return text
  }

  #result({ callId, tool, status, exitCode, output }: PayloadOf<"run.tool.result">): string {
    const shown = this.#calls.get(callId) ?? escapeLine(tool)
    this.#calls.delete(callId)
    const code = exitCode === undefined || exitCode === 0 ? "" : `, exit code ${exitCode}`
    const why = status === "failed" && output?.trim() ? `\n${indent(firstLines(output))}` : ""
    if (!this.#live) return this.#line(`tool: ${shown}: ${status}${code}${why}`)
    const text = `${this.#paint(tints[status], marks[status])} ${shown}${code}${why === "" ? "" : this.#paint("dim", why)}`
    const own = this.#cursor.at === "call" && this.#cursor.callId === callId
    if (own) this.#cursor = start
    return own ? `${ERASE_LINE}${text}\n` : this.#line(text)
  }

  #asked(approvalId: string, request: ApprovalRequest, expiresAt: string): string {
    if (request.callId !== undefined) this.#awaited.set(approvalId, request.callId)
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

  #resolved(payload: PayloadOf<"run.approval.resolved">): string {
    const { approvalId, state, edited, scope, origin, reason, by } = payload
    const tint = state === "approved" ? "green" : "yellow"
    const changes = edited === true ? " with changes" : ""
    const how =
      scope === undefined || scope === "once"
        ? ""
        : ` for this ${scope === "always" ? "and all later runs" : scope}`
    const who = by === undefined ? "" : ` by ${escapeLine(by)}`
    const where = origin === undefined ? "" : places[origin]
    const why = reason === undefined ? "" : `: ${escapeLine(reason)}`
    const head = `${this.#paint(tint, state)}${changes}${how}${who}${where}${why} ${this.#paint("dim", `(${approvalId})`)}`
    return this.#line([head, ...this.#edit(payload)].join("\n"))
  }

  /** What was allowed instead of what was requested, and from now on the name of the call says so. */
  #edit({
    allowedInput,
    approvalId,
    requestedInput
  }: PayloadOf<"run.approval.resolved">): ReadonlyArray<string> {
    const callId = this.#awaited.get(approvalId)
    this.#awaited.delete(approvalId)
    if (allowedInput === undefined) return []
    const label = callId === undefined ? undefined : this.#calls.get(callId)
    if (callId !== undefined && label !== undefined) this.#calls.set(callId, `${label} (input edited)`)
    return inputChanges(requestedInput, allowedInput).flatMap(({ allowed, name, requested }) => [
      side(`requested ${name}`, requested),
      side(`allowed ${name}`, allowed)
    ])
  }

  /** The last line, after whatever was never completed. */
  #end(text: string): string {
    const rest = this.#live
      ? ""
      : [...this.#messages.values()].map(({ channel, text }) => this.#line(this.#said(channel, text)))
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

const places: Readonly<Record<DecisionOrigin, string>> = {
  console: " in the console",
  terminal: " in a terminal",
  chat: " in a chat",
  editor: " in an editor",
  policy: ""
}

/** One side of an edited field; text of several lines stands below its name. */
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
