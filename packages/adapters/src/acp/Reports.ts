/**
 * Reports of an agent while a prompt is under way, the `session/update` notifications: messages, tool calls, usage.
 *
 * Said through the run's `Turn`. It keeps what a turn has come to, for those who judge how it ended.
 */
import type { Usage } from "@corral/domain/run/Run"
import { toCodexRetry } from "../codex/Retries.ts"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { PromptProgress } from "./AcpOutcome.ts"
import { AcpMessages } from "./AcpMessages.ts"
import { AcpUsage } from "./AcpUsage.ts"
import type { ToolCall } from "./ToolCall.ts"
import { ToolCalls } from "./ToolCalls.ts"

/** Maximum length of an unknown name. */
export const MAX_NAME = 100

export class Reports {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #messages: AcpMessages
  readonly #calls: ToolCalls
  readonly #spending: AcpUsage
  /** The agent's own words about the turn that it reported as failed. */
  #failed: string | undefined
  /** A tool call came before the last message. */
  #called = false
  /** The model's text came last. */
  #answered = false
  #stoppedAtDenial = false

  constructor(collector: OutputCollector, agent: AcpAgent, relative: Relative, resumed: boolean) {
    this.#collector = collector
    this.#agent = agent
    this.#messages = new AcpMessages(collector, agent)
    this.#calls = new ToolCalls(collector, agent, relative)
    this.#spending = new AcpUsage(resumed)
  }

  /** What this turn has come to, once it is closed. */
  get turned(): PromptProgress {
    const { last: text, lone } = this.#messages
    const answered = this.#answered || this.#calls.isAnyOpen
    return { text, lone, failed: this.#failed, called: this.#called, answered }
  }

  /** Whether the agent has neither spoken nor called a tool since a permission was denied. */
  get stoppedAtDenial(): boolean {
    return this.#stoppedAtDenial
  }

  get usage(): Usage | undefined {
    return this.#spending.usage
  }

  /** A prompt is sent. */
  begin(): void {
    this.#failed = undefined
    this.#called = false
    this.#answered = false
    this.#stoppedAtDenial = false
    this.#messages.begin()
  }

  /** The prompt is answered; reports that belong to it may still come, the end of its last message too. */
  answered(result: JsonObject): void {
    this.#spending.answered(result)
    this.#calls.settle()
  }

  /** Nothing of the turn is left open but what its agent never closed. */
  close(): void {
    this.#messages.close()
    this.#calls.settle()
    this.#calls.closeDenied()
  }

  /** The call that a permission is asked for. */
  asked(toolCall: JsonObject): ToolCall | undefined {
    this.#acted()
    this.#stoppedAtDenial = false
    return this.#calls.asked(toolCall)
  }

  /** A cancel was sent. */
  cancel(): void {
    this.#calls.cancel()
  }

  /** The permission for a call was denied. */
  deny(callId: string): void {
    this.#stoppedAtDenial = true
    this.#calls.deny(callId)
  }

  /**
   * Any report. `talking`: a prompt is under way; before that there are only words of the program itself, and of a loaded session the
   * old messages. `mode` is the mode that the session was put into.
   */
  read(report: JsonObject, talking: boolean, mode: string | undefined): void {
    const kind = textOf(report["sessionUpdate"]) ?? "untyped"
    switch (kind) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return talking ? this.#chunk(kind, report) : undefined
      case "tool_call":
      case "tool_call_update":
        return talking ? this.#call(report) : undefined
      case "usage_update":
        this.#calls.settle()
        if (talking && this.#spending.reported(report)) this.#spent()
        return
      case "current_mode_update": {
        const now = textOf(report["currentModeId"]) ?? ""
        if (talking && now !== mode)
          this.#collector.countUnknown(`current_mode_update/${now.slice(0, MAX_NAME)}`)
        return
      }
      case "session_info_update":
        return talking ? this.#status(objectOf(report["_meta"])) : undefined
      // They say nothing of the run.
      case "available_commands_update":
      case "config_option_update":
      case "plan":
      case "user_message_chunk":
        return
      default:
        return this.#collector.countUnknown(`session/update/${kind.slice(0, MAX_NAME)}`)
    }
  }

  #spent(): void {
    const { usage } = this.#spending
    if (usage !== undefined) this.#collector.emit({ _tag: "Usage", usage })
  }

  /** The hot path: most reports are text. */
  #chunk(kind: string, { _meta, content, messageId }: JsonObject): void {
    const { text, type } = objectOf(content)
    if (type !== "text" || typeof text !== "string")
      return this.#collector.countUnknown(`${kind}/${(textOf(type) ?? "untyped").slice(0, MAX_NAME)}`)
    // Some agents count tokens beside a text of nothing.
    if (text === "") {
      if (this.#spending.counted(objectOf(objectOf(_meta)["usage"]))) this.#spent()
      return
    }
    this.#calls.settle()
    this.#calls.closeDenied()
    const isText = kind === "agent_message_chunk"
    // After it reports that the turn failed, the agent says why.
    if (isText && this.#failed !== undefined && messageId === undefined) {
      this.#failed += text
      return this.#messages.aside(text)
    }
    if (isText) this.#answered = true
    if (this.#messages.chunk(isText ? "text" : "reasoning", text, textOf(messageId)))
      this.#stoppedAtDenial = false
  }

  /** What the agent reports of the turn itself. */
  #status(meta: JsonObject): void {
    const { statusKey } = this.#agent
    if (statusKey === undefined) return
    const { error, threadStatus } = objectOf(meta[statusKey])
    const { type } = objectOf(threadStatus)
    if (type === "systemError") this.#failed ??= ""
    else if (type === "active") this.#failed = undefined
    // Typed as Codex types it.
    if (objectOf(error)["willRetry"] === true) this.#collector.emitEvent(toCodexRetry(objectOf(error)))
  }

  /** The agent uses a tool: what it says next is another message. */
  #acted(): void {
    this.#called = true
    this.#answered = false
    this.#messages.close()
  }

  #call(report: JsonObject): void {
    if (report["sessionUpdate"] === "tool_call") this.#stoppedAtDenial = false
    this.#acted()
    if (!this.#calls.report(report)) this.#collector.countUnknown("tool_call")
  }
}
