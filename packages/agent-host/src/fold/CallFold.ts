/**
 * Tool calls of one run as actions on a chat, and the agent's steps as a call of each turn. The calls of a sub-agent are in a chat that belongs to the
 * call which started it; where that call has ended before, they are marked in the chat of the agent.
 *
 * Guarantees: a call is announced before it changes. Its content is bounded. The chat of a sub-agent has one turn, which ends with its call or with the turn of
 * the agent.
 */
import { refusalHint } from "@corral/domain/run/ConfinementText"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { Step } from "@corral/domain/run/Work"
import { firstCharacters } from "@corral/domain/text/Cut"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { safeText } from "@corral/domain/text/SafeText"
import type { ChatAction } from "../protocol/Actions.ts"
import type { ToolResultContent } from "../protocol/State.ts"
import { plain, visibleInput } from "./Lines.ts"

type Actions = ReadonlyArray<ChatAction>

/** Between the id of what is shown again and how often it was shown. */
export const AGAIN = "~"

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
  /** Turn of the agent in which it was announced. */
  readonly turnId: string
  /** Id of the call whose sub-agent's chat has it. */
  readonly chatOf: string | undefined
  content: ReadonlyArray<ToolResultContent>
  /** The chat of its sub-agent, and when that began. */
  chat: { readonly content: ToolResultContent; readonly startedAt: string } | undefined
  isOver: boolean
}

/** What announces a call. `parent`: the call of the sub-agent that makes it. `at`: ISO 8601. */
export interface CallStart {
  readonly tool: string
  readonly title: string
  readonly input?: unknown
  readonly parent: string | undefined
  readonly at: string
}

interface CallEnd {
  readonly texts: ReadonlyArray<string>
  readonly error: { readonly message: string; readonly code: string } | undefined
  readonly at: string
}

/** An action on the chat of a sub-agent. `callId`: of the call in a chat that has started it. */
export interface NestedChatAction {
  readonly callId: string
  readonly action: ChatAction
}

const millisBetween = (start: string, end: string): number => Math.max(0, Date.parse(end) - Date.parse(start))

const contentOf = ({ chat, content }: Call): ReadonlyArray<ToolResultContent> =>
  chat === undefined ? content : [chat.content, ...content]

export class CallFold {
  private readonly runId: string
  /** Address of the chat of a sub-agent. Absent where such chats are not read. */
  private readonly addressOf: ((callId: string) => string) | undefined
  private readonly calls = new Map<string, Call>()
  /** How often calls were shown that were shown again. */
  private readonly times = new Map<string, number>()
  private nestedActions: ReadonlyArray<NestedChatAction> = []

  constructor(runId: string, addressOf?: (callId: string) => string) {
    this.runId = runId
    this.addressOf = addressOf
  }

  /** Takes the actions on chats of sub-agents since the last time. */
  takeNestedActions(): ReadonlyArray<NestedChatAction> {
    const taken = this.nestedActions
    this.nestedActions = []
    return taken
  }

  /** Actions of a call, in the chat that has it. */
  place(callId: string, turnId: string, actions: (turnId: string) => Actions): Actions {
    const chatOf = this.calls.get(callId)?.chatOf
    if (chatOf === undefined) return actions(turnId)
    this.addNestedActions(chatOf, actions(this.turnOfChat(chatOf)))
    return []
  }

  private addNestedActions(callId: string, actions: Actions): void {
    const placed = actions.map((action) => ({ callId: this.idOf(callId), action }))
    this.nestedActions = [...this.nestedActions, ...placed]
  }

  private turnOfChat(callId: string): string {
    return `${this.idOf(callId)}.1`
  }

  /** The call whose chat has what this sub-agent does: one that runs in the turn. */
  private chatFor(parent: string | undefined, turnId: string): string | undefined {
    const call = parent === undefined ? undefined : this.calls.get(parent)
    const isOpen = this.addressOf !== undefined && call?.isOver === false && call.turnId === turnId
    return isOpen ? parent : undefined
  }

  /** Begins the chat of a call's sub-agent, if it has not begun. */
  private openChat(callId: string, turnId: string, at: string): Actions {
    const call = this.calls.get(callId)
    const resource = this.addressOf?.(this.idOf(callId))
    if (call === undefined || call.chat !== undefined || resource === undefined) return []
    const title = plain(call.title)
    call.chat = { content: { type: "subagent", resource, title }, startedAt: at }
    const message = { text: safeText(call.title), origin: { kind: "agent" } }
    const started = {
      type: "chat/turnStarted",
      turnId: this.turnOfChat(callId),
      startedAt: at,
      message
    } as const
    this.addNestedActions(callId, [started])
    return this.place(callId, turnId, (placedIn) => [this.contentChange(placedIn, callId, call)])
  }

  /** Ends the chats of sub-agents with the turn of the agent. */
  endChats(turnId: string, at: string): void {
    for (const [callId, call] of this.calls)
      if (call.turnId === turnId && !call.isOver) this.endChat(callId, call, at)
  }

  private endChat(callId: string, { chat }: Call, at: string): void {
    if (chat === undefined) return
    const duration = millisBetween(chat.startedAt, at)
    this.addNestedActions(callId, [{ type: "chat/turnComplete", turnId: this.turnOfChat(callId), duration }])
  }

  private contentChange(turnId: string, callId: string, call: Call): ChatAction {
    const content = contentOf(call)
    return { type: "chat/toolCallContentChanged", turnId, toolCallId: this.idOf(callId), content }
  }

  /** Id of a call in the chat: programs number the calls of each run again. A call that is shown again has another one. */
  idOf(callId: string): string {
    const times = this.times.get(callId)
    return `${this.runId}/${callId}${times === undefined ? "" : `${AGAIN}${times}`}`
  }

  /** Shows a call again in another turn, as one that was not announced. */
  repeat(turnId: string, callId: string, start: CallStart): Actions {
    remember(this.times, callId, (this.times.get(callId) ?? 1) + 1)
    this.calls.delete(callId)
    return this.announce(turnId, callId, start)
  }

  isRunning(callId: string): boolean {
    return this.calls.get(callId)?.isOver === false
  }

  /** A call that is announced and runs. Nothing if it is announced already. */
  announce(turnId: string, callId: string, { at, input, parent, title, tool }: CallStart): Actions {
    if (this.calls.has(callId)) return []
    const chatOf = this.chatFor(parent, turnId)
    const opened = chatOf === undefined ? [] : this.openChat(chatOf, turnId, at)
    remember(this.calls, callId, { title, turnId, chatOf, content: [], chat: undefined, isOver: false })
    const meta = {
      ...([...wordsOf(tool)].some((word) => searches.has(word)) ? { toolKind: "search" } : {}),
      ...(parent === undefined ? {} : { corral: { parentToolCallId: this.idOf(parent) } })
    }
    const toolInput = input === undefined ? undefined : visibleInput(commandOf(input) ?? input)
    const toolCallId = this.idOf(callId)
    const mark = parent === undefined || chatOf !== undefined ? "" : "↳ "
    const announced = this.place(callId, turnId, (placedIn) => [
      {
        type: "chat/toolCallStart",
        turnId: placedIn,
        toolCallId,
        toolName: tool,
        displayName: `${mark}${safeText(tool)}`,
        ...(Object.keys(meta).length === 0 ? {} : { _meta: meta })
      },
      {
        type: "chat/toolCallReady",
        turnId: placedIn,
        toolCallId,
        invocationMessage: { markdown: `${mark}${plain(title)}` },
        ...(toolInput === undefined ? {} : { toolInput: shownOutput(toolInput) }),
        confirmed: "not-needed"
      }
    ])
    return [...opened, ...announced]
  }

  /** Adds text to a call that runs. */
  addContent(turnId: string, callId: string, text: string): Actions {
    const call = this.calls.get(callId)
    if (call === undefined) return []
    const added = { type: "text" as const, text: shownOutput(text) }
    call.content = [...call.content, added].slice(-MAX_CONTENT)
    return this.place(callId, turnId, (placedIn) => [this.contentChange(placedIn, callId, call)])
  }

  complete(turnId: string, result: PayloadOf<"run.tool.result">, at: string): Actions {
    const { callId, content = [], exitCode, kernelRefusal, output = "", parentCallId, status, tool } = result
    const texts = [
      ...(output === "" ? [] : [shownOutput(output)]),
      ...content.map(({ name, text, type }) => text ?? `${type}${name === undefined ? "" : ` ${name}`}`),
      ...(exitCode === undefined || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
      ...(kernelRefusal === undefined ? [] : [refusalHint(kernelRefusal)])
    ]
    const announced = this.announce(turnId, callId, { tool, title: tool, parent: parentCallId, at })
    const error = status === "completed" ? undefined : { message: `The call was ${status}.`, code: status }
    return [...announced, ...this.end(turnId, callId, { texts, error, at })]
  }

  private end(turnId: string, callId: string, { at, error, texts }: CallEnd): Actions {
    const call = this.calls.get(callId)
    if (call === undefined) return []
    this.endChat(callId, call, at)
    call.isOver = true
    const parts = [...call.content, ...texts.map((text) => ({ type: "text" as const, text }))]
    call.content = parts.slice(-MAX_CONTENT)
    const content = contentOf(call)
    const result = {
      success: error === undefined,
      pastTenseMessage: { markdown: plain(call.title) },
      ...(content.length === 0 ? {} : { content }),
      ...(error === undefined ? {} : { error })
    }
    return this.place(callId, turnId, (placedIn) => [
      { type: "chat/toolCallComplete", turnId: placedIn, toolCallId: this.idOf(callId), result }
    ])
  }

  /** The steps of the turn, as one call of it: clients show its message, and a part of an ended turn does not change. */
  setSteps(turnId: string, steps: ReadonlyArray<Step>, at: string): Actions {
    const callId = `steps.${turnId}`
    const announced = this.announce(turnId, callId, { tool: "steps", title: "Steps", parent: undefined, at })
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

  endSteps(turnId: string, at: string): Actions {
    const callId = `steps.${turnId}`
    return this.isRunning(callId) ? this.end(turnId, callId, { texts: [], error: undefined, at }) : []
  }
}
