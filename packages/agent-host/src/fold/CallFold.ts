/**
 * Tool calls of one run as actions on a chat, with sub-agents' calls marked, and the agent's steps as a call of each turn.
 *
 * Guarantees: a call is announced before it changes. Its content is bounded.
 */
import { inputText } from "@corral/domain/approval/InputEdit"
import { refusalHint } from "@corral/domain/run/ConfinementText"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { Step } from "@corral/domain/run/Work"
import { firstCharacters } from "@corral/domain/text/Cut"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { ChatAction } from "../protocol/Actions.ts"
import type { ToolResultContent } from "../protocol/State.ts"
import { plain } from "./Lines.ts"

type Actions = ReadonlyArray<ChatAction>

/** Longest output of a tool call that is shown. The whole is in the event. */
const MAX_OUTPUT = 16_384
/** Parts of the content of one call. */
const MAX_CONTENT = 50
/** Calls, approvals, texts and works that are remembered at a time. */
const MAX_REMEMBERED = 10_000

export const shownOutput = (text: string): string => firstCharacters(text, MAX_OUTPUT)

/** Sets an entry. The oldest one makes room. */
export const remember = <Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  limit = MAX_REMEMBERED
): void => {
  const [oldest] = map.size >= limit && !map.has(key) ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}

const wordsOf = (tool: string): ReadonlySet<string> =>
  new Set(
    tool
      .slice(0, 100)
      .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(/[^a-z]+/)
  )

/**
 * Words of the names that programs use for searches. No call has the kind of terminals: VS Code decides such calls with its own buttons, and hides the host's
 * options and the details of the action.
 */
const searches: ReadonlySet<string> = new Set(["search", "grep", "glob", "find", "list", "ls"])

/** The command line of a call, where its input has one. */
const commandOf = (input: unknown): string | undefined => {
  const command = isJsonObject(input) ? input["command"] : undefined
  if (typeof command === "string") return command
  return Array.isArray(command) ? command.map(String).join(" ") : undefined
}

export const stepLines = (steps: ReadonlyArray<Step>): string =>
  steps.map(({ state, text }) => `- ${state.replaceAll("_", " ")}: ${plain(text)}`).join("\n")

const stepsTitle = (steps: ReadonlyArray<Step>): string => {
  const done = steps.filter(({ state }) => state === "completed" || state === "cancelled").length
  const current = steps.find(({ state }) => state === "in_progress")
  return `Steps: ${done} of ${steps.length} done${current === undefined ? "" : ` – ${plain(current.text)}`}`
}

interface Call {
  readonly title: string
  content: ReadonlyArray<ToolResultContent>
  isOver: boolean
}

/** What announces a call. `parent`: the call of the sub-agent that makes it. */
export interface CallStart {
  readonly tool: string
  readonly title: string
  readonly input?: unknown
  readonly parent: string | undefined
}

export class CallFold {
  private readonly runId: string
  private readonly calls = new Map<string, Call>()

  constructor(runId: string) {
    this.runId = runId
  }

  /** Id of a call in the chat: programs number the calls of each run again. */
  idOf(callId: string): string {
    return `${this.runId}/${callId}`
  }

  isRunning(callId: string): boolean {
    return this.calls.get(callId)?.isOver === false
  }

  /** A call that is announced and runs. Nothing if it is announced already. */
  announce(turnId: string, callId: string, { input, parent, title, tool }: CallStart): Actions {
    if (this.calls.has(callId)) return []
    remember(this.calls, callId, { title, content: [], isOver: false })
    const meta = {
      ...([...wordsOf(tool)].some((word) => searches.has(word)) ? { toolKind: "search" } : {}),
      ...(parent === undefined ? {} : { corral: { parentToolCallId: this.idOf(parent) } })
    }
    const toolInput = input === undefined ? undefined : (commandOf(input) ?? inputText(input))
    const base = { turnId, toolCallId: this.idOf(callId) }
    const mark = parent === undefined ? "" : "↳ "
    return [
      {
        type: "chat/toolCallStart",
        ...base,
        toolName: tool,
        displayName: `${mark}${tool}`,
        ...(Object.keys(meta).length === 0 ? {} : { _meta: meta })
      },
      {
        type: "chat/toolCallReady",
        ...base,
        invocationMessage: { markdown: `${mark}${plain(title)}` },
        ...(toolInput === undefined ? {} : { toolInput: shownOutput(toolInput) }),
        confirmed: "not-needed"
      }
    ]
  }

  /** Adds text to a call that runs. */
  addContent(turnId: string, callId: string, text: string): Actions {
    const call = this.calls.get(callId)
    if (call === undefined) return []
    const added = { type: "text" as const, text: shownOutput(text) }
    call.content = [...call.content, added].slice(-MAX_CONTENT)
    const { content } = call
    return [{ type: "chat/toolCallContentChanged", turnId, toolCallId: this.idOf(callId), content }]
  }

  complete(turnId: string, result: PayloadOf<"run.tool.result">): Actions {
    const { callId, content = [], exitCode, kernelRefusal, output = "", parentCallId, status, tool } = result
    const texts = [
      ...(output === "" ? [] : [shownOutput(output)]),
      ...content.map(({ name, text, type }) => text ?? `${type}${name === undefined ? "" : ` ${name}`}`),
      ...(exitCode === undefined || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
      ...(kernelRefusal === undefined ? [] : [refusalHint(kernelRefusal)])
    ]
    const announced = this.announce(turnId, callId, { tool, title: tool, parent: parentCallId })
    return [
      ...announced,
      ...this.end(
        turnId,
        callId,
        texts,
        status === "completed" ? undefined : { message: `The call was ${status}.`, code: status }
      )
    ]
  }

  private end(
    turnId: string,
    callId: string,
    texts: ReadonlyArray<string>,
    error: { readonly message: string; readonly code: string } | undefined
  ): Actions {
    const call = this.calls.get(callId)
    if (call === undefined) return []
    call.isOver = true
    const parts = [...call.content, ...texts.map((text) => ({ type: "text" as const, text }))]
    const result = {
      success: error === undefined,
      pastTenseMessage: { markdown: plain(call.title) },
      ...(parts.length === 0 ? {} : { content: parts.slice(-MAX_CONTENT) }),
      ...(error === undefined ? {} : { error })
    }
    return [{ type: "chat/toolCallComplete", turnId, toolCallId: this.idOf(callId), result }]
  }

  /** The steps of the turn, as one call of it: clients show its message, and a part of an ended turn does not change. */
  setSteps(turnId: string, steps: ReadonlyArray<Step>): Actions {
    const callId = `steps.${turnId}`
    const announced = this.announce(turnId, callId, { tool: "steps", title: "Steps", parent: undefined })
    const call = this.calls.get(callId)
    if (call === undefined) return announced
    call.content = [{ type: "text", text: stepLines(steps) }]
    const base = { turnId, toolCallId: this.idOf(callId) }
    const invocationMessage = { markdown: stepsTitle(steps) }
    return [
      ...announced,
      { type: "chat/toolCallReady", ...base, invocationMessage, confirmed: "not-needed" },
      { type: "chat/toolCallContentChanged", ...base, content: call.content }
    ]
  }

  endSteps(turnId: string): Actions {
    const callId = `steps.${turnId}`
    return this.isRunning(callId) ? this.end(turnId, callId, [], undefined) : []
  }
}
