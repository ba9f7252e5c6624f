/**
 * Reports of an agent during a prompt, the `session/update` notifications: messages, tool calls, usage.
 *
 * Emits their events, and keeps the turn's progress for `toAcpOutcome`.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { Usage } from "@corral/domain/run/Run"
import { toCodexRetry } from "../codex/Retries.ts"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { ChunkMeta, PromptResponse, StatusMeta } from "./AcpExtensions.ts"
import { isUpdateKind } from "./AcpNames.ts"
import type { PromptProgress } from "./AcpOutcome.ts"
import { AcpMessages } from "./AcpMessages.ts"
import { AcpUsage } from "./AcpUsage.ts"
import type { ToolCall } from "./ToolCall.ts"
import { ToolCalls } from "./ToolCalls.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

/** Maximum length of an unknown name. */
export const MAX_UNKNOWN_NAME = 100

type SessionUpdate = UnverifiedFields<Acp.SessionUpdate>
type ChunkKind = "agent_message_chunk" | "agent_thought_chunk"

export class SessionUpdates {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #messages: AcpMessages
  readonly #calls: ToolCalls
  readonly #usage: AcpUsage
  /** Why the turn failed, after the agent has reported that it did. May be empty. */
  #failure: string | undefined
  /** A tool call came before the last message. */
  #hasCalled = false
  /** The model's text came last. */
  #hasAnswered = false
  #stoppedAtDenial = false

  constructor(collector: OutputCollector, agent: AcpAgent, relative: Relative, isResumed: boolean) {
    this.#collector = collector
    this.#agent = agent
    this.#messages = new AcpMessages(collector, agent)
    this.#calls = new ToolCalls(collector, agent, relative)
    this.#usage = new AcpUsage(isResumed)
  }

  /** Progress of this turn, complete once the turn is closed. */
  get progress(): PromptProgress {
    const { lastText, lastSingleChunk } = this.#messages
    return {
      text: lastText,
      singleChunk: lastSingleChunk,
      failure: this.#failure,
      hasCalled: this.#hasCalled,
      hasAnswered: this.#hasAnswered || this.#calls.isAnyOpen
    }
  }

  /** Whether the agent has sent neither text nor a tool call since a permission was denied. */
  get stoppedAtDenial(): boolean {
    return this.#stoppedAtDenial
  }

  get usage(): Usage | undefined {
    return this.#usage.usage
  }

  /** Starts a turn: its prompt is sent. */
  beginTurn(): void {
    this.#failure = undefined
    this.#hasCalled = false
    this.#hasAnswered = false
    this.#stoppedAtDenial = false
    this.#messages.beginTurn()
  }

  /** Reads the response to the prompt. Reports of its turn may follow, the end of its last message too. */
  readResponse(response: UnverifiedFields<PromptResponse>): void {
    this.#usage.endTurn(response)
    this.#calls.openAll()
  }

  /** Closes messages and denied calls of the turn. */
  close(): void {
    this.#messages.close()
    this.#calls.openAll()
    this.#calls.closeDenied()
  }

  /** The call that a permission is requested for. */
  requestPermission(toolCall: UnverifiedFields<Acp.ToolCallUpdate>): ToolCall | undefined {
    this.#beginCall()
    this.#stoppedAtDenial = false
    return this.#calls.requestPermission(toolCall)
  }

  /** Records that a cancel was sent. */
  cancel(): void {
    this.#calls.cancel()
  }

  /** Records that the permission for a call was denied. */
  deny(callId: string): void {
    this.#stoppedAtDenial = true
    this.#calls.deny(callId)
  }

  /**
   * Reads any report. `isPrompted`: a prompt is in progress. Before the first one there is only text of the program, and the old messages
   * of a loaded session. `mode` is the mode that the session was set to.
   */
  read(update: SessionUpdate, isPrompted: boolean, mode: string | undefined): void {
    const kind = update.sessionUpdate
    if (!isUpdateKind(kind)) return this.#countUnknown(textOf(kind) ?? "untyped")
    switch (kind) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return isPrompted ? this.#readChunk(kind, update) : undefined
      case "tool_call":
      case "tool_call_update":
        return isPrompted ? this.#readCall(update) : undefined
      case "usage_update":
        this.#calls.openAll()
        if (isPrompted && this.#usage.readCost(update)) this.#emitUsage()
        return
      case "current_mode_update": {
        const current = textOf(update.currentModeId) ?? ""
        if (isPrompted && current !== mode)
          this.#collector.countUnknown(`current_mode_update/${current.slice(0, MAX_UNKNOWN_NAME)}`)
        return
      }
      case "session_info_update":
        return isPrompted ? this.#readStatus(objectOf(update._meta)) : undefined
      // They have no event.
      case "available_commands_update":
      case "config_option_update":
      case "plan":
      case "user_message_chunk":
        return
      // Capabilities that `initialize` does not announce.
      case "notice":
      case "compaction_update":
      case "compaction_summary_chunk":
        return this.#countUnknown(kind)
      default:
        return kind satisfies never
    }
  }

  #countUnknown(kind: string): void {
    this.#collector.countUnknown(`session/update/${kind.slice(0, MAX_UNKNOWN_NAME)}`)
  }

  #emitUsage(): void {
    const { usage } = this.#usage
    if (usage !== undefined) this.#collector.emit({ _tag: "Usage", usage })
  }

  /** The hot path: most reports are text. */
  #readChunk(kind: ChunkKind, { _meta, content, messageId }: SessionUpdate): void {
    const { text, type }: UnverifiedFields<Acp.ContentBlock> = objectOf(content)
    if (type !== "text" || typeof text !== "string")
      return this.#collector.countUnknown(`${kind}/${(textOf(type) ?? "untyped").slice(0, MAX_UNKNOWN_NAME)}`)
    // Some agents report tokens with an empty text.
    if (text === "") {
      const { usage }: UnverifiedFields<ChunkMeta> = objectOf(_meta)
      if (this.#usage.addTokens(objectOf(usage))) this.#emitUsage()
      return
    }
    this.#calls.openAll()
    this.#calls.closeDenied()
    const isText = kind === "agent_message_chunk"
    // After the agent reports that the turn failed, its text says why.
    if (isText && this.#failure !== undefined && messageId === undefined) {
      this.#failure += text
      return this.#messages.emitProgramText(text)
    }
    if (isText) this.#hasAnswered = true
    if (this.#messages.addChunk(isText ? "text" : "reasoning", text, textOf(messageId)))
      this.#stoppedAtDenial = false
  }

  /** Reads the agent's report about the turn itself. */
  #readStatus(meta: JsonObject): void {
    const { statusKey } = this.#agent
    if (statusKey === undefined) return
    const { error, threadStatus }: UnverifiedFields<StatusMeta> = objectOf(meta[statusKey])
    const { type }: UnverifiedFields<StatusMeta["threadStatus"]> = objectOf(threadStatus)
    if (type === "systemError") this.#failure ??= ""
    else if (type === "active") this.#failure = undefined
    // The error has the same fields as in Codex's own protocol.
    const failure = objectOf(error)
    const { willRetry }: UnverifiedFields<StatusMeta["error"]> = failure
    if (willRetry === true) this.#collector.emitEvent(toCodexRetry(failure))
  }

  /** Ends the open message: text after a tool call is a new message. */
  #beginCall(): void {
    this.#hasCalled = true
    this.#hasAnswered = false
    this.#messages.close()
  }

  #readCall(update: SessionUpdate): void {
    if (update.sessionUpdate === "tool_call") this.#stoppedAtDenial = false
    this.#beginCall()
    if (!this.#calls.report(update)) this.#collector.countUnknown("tool_call")
  }
}
