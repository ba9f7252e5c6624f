/**
 * Actions on a chat from the events of one run: its turns with their texts, tool calls, approvals, questions, steps, usage and end.
 *
 * Guarantees: the same events give the same actions, so that a client that reads the run again finds the same turns and parts. A text is sent once. A
 * call is announced before it changes. Who decided is written into the stream, because clients do not show who confirmed a call.
 * Does not: know clients. Ids of turns that an editor began come from `turnKey`.
 */
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { type EventHandlers, handleEvent } from "@corral/domain/run/EventTable"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { RunMode, Usage } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { EventOf, RunEvent } from "@corral/domain/run/RunEvent"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { safeText } from "@corral/domain/text/SafeText"
import type { ChatAction } from "../protocol/Actions.ts"
import type { UsageInfo } from "../protocol/State.ts"
import { CallFold, remember, shownOutput, stepLines, type NestedChatAction } from "./CallFold.ts"
import {
  backgroundLine,
  codeBlock,
  diffLine,
  type NameOf,
  plain,
  protectedLine,
  repositoryLine,
  stopLine,
  timeoutLine,
  unknownChangesLine
} from "./Lines.ts"
import { RequestFold } from "./RequestFold.ts"
import { TurnWriter } from "./TurnWriter.ts"

type Actions = ReadonlyArray<ChatAction>
const none: Actions = []

export interface RunFoldOptions {
  readonly runId: string
  /** Id of the run's first turn, if an editor began it. */
  readonly turnKey?: string | undefined
  /** Id of a later turn that an editor began with this message, if one did. */
  readonly keyOfTurn?: ((text: string) => string | undefined) | undefined
  /** Address of the chat of the sub-agent that a call has started. Absent where such chats are not read. */
  readonly nestedChatAddress?: (toolCallId: string) => string
  readonly model?: string | undefined
  readonly nameOf: NameOf
  /** Modes in which an approved plan can be carried out. */
  readonly modes: ReadonlyArray<RunMode>
}

/** A run of which nothing but its end may be known. */
interface EndedRun {
  readonly state: HubRunStatus
  readonly text: string
  readonly lastSeq: number
  readonly error?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export const hasEnded = ({ state }: Pick<EndedRun, "state">): boolean =>
  state !== "queued" && isTerminal(state)

const usageInfo = (usage: Usage, model: string | undefined): UsageInfo => ({
  ...(usage.inputTokens === undefined ? {} : { inputTokens: usage.inputTokens }),
  ...(usage.outputTokens === undefined ? {} : { outputTokens: usage.outputTokens }),
  ...(usage.cachedInputTokens === undefined ? {} : { cacheReadTokens: usage.cachedInputTokens }),
  ...(model === undefined ? {} : { model }),
  ...(usage.costUsd === undefined
    ? {}
    : { _meta: { corral: { costUsd: usage.costUsd, costSource: usage.costSource ?? "program" } } })
})

export class RunFold {
  mode: RunMode = "ask"
  /** The last position that was read. */
  lastSeq = 0
  hasEnded = false
  private readonly options: RunFoldOptions
  private readonly calls: CallFold
  private readonly writer: TurnWriter
  /** What waits for a person. */
  readonly requests: RequestFold
  /** Whether what the run changes waits to be accepted. */
  private isApart = false
  private readonly outstanding = new Map<string, string>()
  /** Texts that stream: their part, and how much of it was sent. */
  private readonly streams = new Map<string, { readonly partId: string; sent: number }>()
  /** A message to the run that no turn has yet. */
  private waitingText: string | undefined

  constructor(options: RunFoldOptions) {
    this.options = options
    this.calls = new CallFold(options.runId, options.nestedChatAddress)
    this.writer = new TurnWriter(options.runId, options.model)
    this.requests = new RequestFold(this.writer, this.calls, {
      nameOf: options.nameOf,
      place: () => ({ mode: this.mode, modes: options.modes })
    })
  }

  apply({ decoded, missing }: SequencedEvent): Actions {
    this.lastSeq = envelopeOf(decoded).seq
    if (decoded._tag !== "KnownEvent") return none
    const { event } = decoded
    const gap =
      missing === undefined
        ? none
        : this.writer.line(event, `Events ${missing.from} to ${missing.to} are no longer available.`, "gap")
    const actions = [...gap, ...handleEvent(RunFold.handlers, this, event)]
    this.writer.note(actions)
    return actions
  }

  /** The turn of a run that the service has ended without an event of it: its device did not answer. Nothing if it has not ended, or has events. */
  endUnanswered(run: EndedRun): Actions {
    const { createdAt, error, lastSeq, state, text, updatedAt } = run
    if (lastSeq > 0 || !hasEnded(run)) return none
    this.hasEnded = true
    const [started] = this.writer.begin({ createdAt }, text, "user", this.options.turnKey)
    const { turnId = "" } = this.writer
    this.writer.turnId = undefined
    const duration = Math.max(0, Date.parse(updatedAt) - Date.parse(createdAt))
    const message = safeText(error ?? "The device did not answer.")
    const end: ChatAction =
      state === "failed"
        ? {
            type: "chat/error",
            turnId,
            duration,
            part: { kind: "error", error: { errorType: state, message } }
          }
        : { type: "chat/turnCancelled", turnId, duration }
    return started === undefined ? none : [started, end]
  }

  /** Takes the actions on chats of sub-agents since the last time. */
  takeNestedActions(): ReadonlyArray<NestedChatAction> {
    return this.calls.takeNestedActions()
  }

  private endCalls({ createdAt }: RunEvent, turnId: string): Actions {
    this.calls.endChats(turnId, createdAt)
    return this.calls.endSteps(turnId, createdAt)
  }

  private activity(text: string | null): Actions {
    return [{ type: "chat/activityChanged", activity: text }]
  }

  private delta(event: EventOf<"run.message.delta">): Actions {
    const { channel, messageId, parentCallId, text } = event.payload
    // The text of a sub-agent is content of its call, once it is whole.
    if (parentCallId !== undefined || text === "") return none
    if (channel === "text") this.writer.hasText = true
    const stream = this.streams.get(messageId)
    const kind = channel === "text" ? ("markdown" as const) : ("reasoning" as const)
    return this.writer.inTurn(event, (turnId) => {
      if (stream !== undefined) {
        stream.sent += text.length
        const type = channel === "text" ? "chat/delta" : "chat/reasoning"
        return [{ type, turnId, partId: stream.partId, content: text }]
      }
      const partId = this.writer.partId(event)
      remember(this.streams, messageId, { partId, sent: text.length })
      return [this.writer.textPart(turnId, kind, partId, text)]
    })
  }

  private message(event: EventOf<"run.message.completed">): Actions {
    const { channel, messageId, parentCallId, role, text } = event.payload
    if (role === "user") return this.furtherInput(event, text)
    const stream = this.streams.get(messageId)
    this.streams.delete(messageId)
    const rest = text.slice(stream?.sent ?? 0)
    if (rest === "") return none
    if (parentCallId !== undefined) return this.addContent(event, parentCallId, rest)
    if (role === "system") return this.writer.line(event, plain(rest))
    if (channel === "text") this.writer.hasText = true
    return this.writer.inTurn(event, (turnId) => {
      if (stream !== undefined) {
        const type = channel === "text" ? "chat/delta" : "chat/reasoning"
        return [{ type, turnId, partId: stream.partId, content: rest }]
      }
      const kind = channel === "text" ? ("markdown" as const) : ("reasoning" as const)
      return [this.writer.textPart(turnId, kind, this.writer.partId(event), rest)]
    })
  }

  private furtherInput(event: EventOf<"run.message.completed">, text: string): Actions {
    if (this.writer.turnId === undefined) {
      this.waitingText = text
      return none
    }
    return this.writer.line(event, `Message to the agent: ${plain(text)}`)
  }

  private call(event: EventOf<"run.tool.call">): Actions {
    const { callId, input, label, parentCallId: parent, tool } = event.payload
    const title = label === "" ? tool : label
    return this.writer.inTurn(event, (turnId) =>
      this.calls.announce(turnId, callId, { tool, title, input, parent, at: event.createdAt })
    )
  }

  private result(event: EventOf<"run.tool.result">): Actions {
    return this.writer.inTurn(event, (turnId) => this.calls.complete(turnId, event.payload, event.createdAt))
  }

  /** Text of a call. That of a call which has ended, or is unknown, is text of the turn. */
  private addContent(event: RunEvent, callId: string, text: string): Actions {
    return this.calls.isRunning(callId)
      ? this.writer.inTurn(event, (turnId) => this.calls.addContent(turnId, callId, text))
      : this.writer.text(event, text)
  }

  private patch(event: EventOf<"run.patch.proposed">): Actions {
    const { callId, parentCallId, patch, path } = event.payload
    const block = codeBlock(shownOutput(patch), "diff")
    const call = [callId, parentCallId].find((id) => id !== undefined && this.calls.isRunning(id))
    return call === undefined
      ? this.writer.text(event, `\n\n${plain(path)}\n\n${block}\n\n`)
      : this.addContent(event, call, block)
  }

  private file(event: EventOf<"run.file.read" | "run.file.changed">): Actions {
    const { callId, path } = event.payload
    if (callId !== undefined || event.type === "run.file.read") return none
    return this.writer.line(event, `${event.payload.change}: ${plain(path)}`)
  }

  private steps(event: EventOf<"run.steps.updated">): Actions {
    const { parentCallId, steps } = event.payload
    return parentCallId === undefined
      ? this.writer.inTurn(event, (turnId) => this.calls.setSteps(turnId, steps, event.createdAt))
      : this.addContent(event, parentCallId, stepLines(steps))
  }

  private workEnd(event: EventOf<"run.work.ended">): Actions {
    const { state, workId } = event.payload
    const title = this.outstanding.get(workId) ?? "background work"
    this.outstanding.delete(workId)
    const count = this.outstanding.size
    return [
      ...this.activity(count === 0 ? null : backgroundLine(count, [...this.outstanding.values()])),
      ...(this.writer.turnId === undefined ? none : this.writer.line(event, `${plain(title)}: ${state}`))
    ]
  }

  /** The text of a turn, if no message had it. */
  private finalText(event: RunEvent, text: string | undefined): Actions {
    const hadText = this.writer.hasText
    this.writer.hasText = false
    return hadText || text === undefined || text === "" ? none : this.writer.text(event, text, "final")
  }

  private usage(usage: Usage | undefined): Actions {
    const { turnId } = this.writer
    return usage === undefined || turnId === undefined
      ? none
      : [{ type: "chat/usage", turnId, usage: usageInfo(usage, this.writer.model) }]
  }

  private turnEnd(event: EventOf<"run.turn.ended">): Actions {
    const { outstanding, text, usage } = event.payload
    const final = this.finalText(event, text)
    const background =
      outstanding === 0 ? undefined : backgroundLine(outstanding, [...this.outstanding.values()])
    if (this.writer.turnId === undefined) return background === undefined ? none : this.activity(background)
    const lines = background === undefined ? none : this.writer.line(event, background, "work")
    const { turnId } = this.writer
    const ended: Actions = [
      ...final,
      ...lines,
      ...this.usage(usage),
      ...this.endCalls(event, turnId),
      { type: "chat/turnComplete", turnId, duration: this.writer.duration(event) },
      ...(background === undefined ? none : this.activity(background))
    ]
    this.writer.turnId = undefined
    return [...ended, ...this.requests.showAgain(event)]
  }

  private nextTurn(event: EventOf<"run.turn.started">): Actions {
    if (this.writer.turnId !== undefined) return none
    return this.turnOfMessage(event) ?? this.writer.begin(event, "", "systemNotification")
  }

  /** The turn of a message that no turn has yet. */
  private turnOfMessage(event: RunEvent): Actions | undefined {
    const text = this.waitingText
    this.waitingText = undefined
    return text === undefined
      ? undefined
      : this.writer.begin(event, text, "user", this.options.keyOfTurn?.(text))
  }

  private end(event: EventOf<"run.completed" | "run.failed" | "run.cancelled">): Actions {
    this.hasEnded = true
    const isFailed = event.type === "run.failed"
    const text = event.type === "run.completed" ? event.payload.text : undefined
    const wasIdle = this.writer.turnId === undefined
    const shown = wasIdle ? none : this.finalText(event, text)
    const lines = wasIdle ? none : this.endLine(event)
    // A client that has begun a turn waits for its end.
    const message = wasIdle ? this.turnOfMessage(event) : undefined
    const started =
      message ?? (isFailed && wasIdle ? this.writer.begin(event, "", "systemNotification") : none)
    const { turnId } = this.writer
    this.requests.clear()
    this.outstanding.clear()
    if (turnId === undefined) return this.activity(null)
    const ended = [
      ...started,
      ...shown,
      ...lines,
      ...this.usage(event.payload.usage),
      ...this.endCalls(event, turnId)
    ]
    const duration = this.writer.duration(event)
    this.writer.turnId = undefined
    return [...ended, this.endOf(event, turnId, duration), ...this.activity(null)]
  }

  /** What the end of the turn does not say. */
  private endLine(event: EventOf<"run.completed" | "run.failed" | "run.cancelled">): Actions {
    const stop = event.type === "run.cancelled" ? stopLine(event.payload, this.options.nameOf) : undefined
    if (stop !== undefined) return this.writer.line(event, stop, "stopped")
    const stopped = event.type === "run.completed" ? (event.payload.stopped ?? []) : []
    return stopped.length === 0
      ? none
      : this.writer.line(event, `Finished; stopped: ${stopped.map(plain).join(", ")}`, "stopped")
  }

  private endOf(
    event: EventOf<"run.completed" | "run.failed" | "run.cancelled">,
    turnId: string,
    duration: number
  ): ChatAction {
    if (event.type !== "run.failed")
      return {
        type: event.type === "run.completed" ? "chat/turnComplete" : "chat/turnCancelled",
        turnId,
        duration
      }
    const { code, message } = event.payload.error
    return {
      type: "chat/error",
      turnId,
      duration,
      part: { kind: "error", error: { errorType: code, message: safeText(message) } }
    }
  }

  private paused(event: EventOf<"run.paused" | "run.resumed">): Actions {
    const { by, reason } = event.payload
    const isPaused = event.type === "run.paused"
    const who = by === undefined ? "" : ` by ${plain(this.options.nameOf(by))}`
    const why = reason === undefined ? "" : `: ${plain(reason)}`
    const change = `${isPaused ? "Paused" : "Resumed"}${who}${why}`
    return [
      ...this.activity(isPaused ? "Paused" : null),
      ...(this.writer.turnId === undefined ? none : this.writer.line(event, change))
    ]
  }

  /** A line where a turn is in progress. Between turns it would begin one. */
  private note(event: RunEvent, text: string): Actions {
    return this.writer.turnId === undefined ? none : this.writer.line(event, text)
  }

  private static readonly handlers: EventHandlers<RunFold, Actions> = {
    "run.created": (fold, event) => {
      const { input, layer, mode, worktree } = event.payload
      fold.mode = mode
      fold.isApart = (layer ?? worktree) !== undefined
      return fold.writer.begin(event, messageOfPrompt(input.text), "user", fold.options.turnKey)
    },
    "run.started": (fold, event) => {
      fold.writer.model = event.payload.model ?? fold.writer.model
      return none
    },
    "run.message.delta": (fold, event) => fold.delta(event),
    "run.message.completed": (fold, event) => fold.message(event),
    "run.tool.call": (fold, event) => fold.call(event),
    "run.tool.result": (fold, event) => fold.result(event),
    "run.file.read": (fold, event) => fold.file(event),
    "run.file.changed": (fold, event) => fold.file(event),
    "run.patch.proposed": (fold, event) => fold.patch(event),
    "run.approval.requested": (fold, event) => fold.requests.approval(event),
    "run.approval.resolved": (fold, event) => fold.requests.decision(event),
    "run.input.requested": (fold, event) => fold.requests.question(event),
    "run.input.resolved": (fold, event) => fold.requests.answer(event),
    "run.steps.updated": (fold, event) => fold.steps(event),
    "run.work.started": (fold, { payload }) => {
      remember(fold.outstanding, payload.workId, payload.title)
      return none
    },
    "run.work.ended": (fold, event) => fold.workEnd(event),
    "run.turn.started": (fold, event) => fold.nextTurn(event),
    "run.turn.ended": (fold, event) => fold.turnEnd(event),
    "run.usage.updated": (fold, { payload }) => fold.usage(payload.usage),
    "run.paused": (fold, event) => fold.paused(event),
    "run.resumed": (fold, event) => fold.paused(event),
    "run.notice": (fold, event) => fold.note(event, plain(event.payload.text)),
    "run.diff.ready": (fold, event) =>
      fold.note(event, diffLine(event.payload, fold.isApart ? event.runId : undefined)),
    "run.changes.unknown": (fold, event) => fold.note(event, unknownChangesLine(event.payload)),
    "run.protected.changed": (fold, event) => fold.note(event, protectedLine(event.payload)),
    "run.repository.changed": (fold, event) => fold.note(event, repositoryLine(event.payload)),
    "run.artifact.ready": (fold, event) =>
      event.payload.callId === undefined ? fold.note(event, `Artifact: ${plain(event.payload.name)}`) : none,
    "run.preview.ready": (fold, event) => fold.note(event, `Preview: ${plain(event.payload.title)}`),
    "runtime.unavailable": (fold, event) => fold.note(event, plain(event.payload.message)),
    "runtime.retrying": (fold, event) =>
      fold.note(event, `Retrying: ${plain(event.payload.message ?? event.payload.reason)}`),
    "runtime.timeout": (fold, event) => fold.note(event, timeoutLine(event.payload)),
    "schema.validation_failed": () => none,
    "integration.message.received": () => none,
    "integration.card.action": () => none,
    "identity.binding.required": () => none,
    "run.completed": (fold, event) => fold.end(event),
    "run.failed": (fold, event) => fold.end(event),
    "run.cancelled": (fold, event) => fold.end(event)
  }
}
