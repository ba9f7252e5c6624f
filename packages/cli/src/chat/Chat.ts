/**
 * State of a chat at a terminal: the conversation, the text that the user writes, and what happens with it.
 *
 * Plain and synchronous. Work with the service is returned as `ChatWork`, and its outcome comes back through methods.
 */
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import type { RunLimits } from "@corral/domain/run/Budget"
import { RunMode } from "@corral/domain/run/Run"
import { AttachedFiles, fileNames, type LocalFile, typedPath } from "../attachment/LocalFile.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import type { DecisionRequest } from "../run/RunServer.ts"
import { limitsText } from "../run/TurnLimits.ts"
import { parseLimits } from "@corral/domain/run/LimitText"
import { type ChatCommandName, helpLines, parseLine } from "./ChatCommands.ts"
import { backgroundText } from "../run/EventLines.ts"
import {
  ChatDecision,
  ChatQuestion,
  type DecisionOutcome,
  decisionQuestion,
  type QuestionOutcome
} from "./ChatAnswers.ts"
import type { PendingQuestion } from "./ChatTurns.ts"
import type { ChatThread, OutgoingMessage } from "./ChatThread.ts"
import { ChatView } from "./ChatView.ts"

/** What a line of the user needs from the service. */
export type ChatWork =
  | { readonly kind: "send"; readonly message: OutgoingMessage }
  | { readonly kind: "decide"; readonly id: ApprovalId; readonly decision: DecisionRequest }
  | { readonly kind: "answer"; readonly id: InputRequestId; readonly answer: InputAnswer }
  | { readonly kind: "finish"; readonly runs: ReadonlyArray<RunId> }
  | { readonly kind: "stop"; readonly runs: ReadonlyArray<RunId> }
  | { readonly kind: "pause"; readonly runs: ReadonlyArray<RunId> }
  | { readonly kind: "resume"; readonly runs: ReadonlyArray<RunId> }
  | { readonly kind: "retry"; readonly id: string }
  | { readonly kind: "withdraw"; readonly id: string }
  | { readonly kind: "continue" }
  | { readonly kind: "diff"; readonly run: RunId }
  | { readonly kind: "compare"; readonly run: RunId }
  | { readonly kind: "changes" | "accept" | "reject" | "undo"; readonly run: RunId; readonly named: string }
  | { readonly kind: "agent"; readonly name: string }
  | { readonly kind: "attach"; readonly path: string }
  | { readonly kind: "new" }
  | { readonly kind: "leave" }

const LEAVE_WITHIN_MS = 5_000

export class Chat {
  view: ChatView
  thread: ChatThread
  /** Text for the editor, once. */
  nextText: string | undefined
  /** Files of the next message. */
  private readonly attached = new AttachedFiles()
  private readonly columns: () => number
  private readonly newKey: () => string
  private mode: RunMode | undefined
  private model: string | undefined
  /** Limits of the next messages. */
  private limits: RunLimits
  private readonly decision = new ChatDecision()
  private readonly answering = new ChatQuestion()
  private interruptedAt = -Infinity

  constructor(thread: ChatThread, columns: () => number, newKey: () => string, limits: RunLimits = {}) {
    this.thread = thread
    this.limits = limits
    this.columns = columns
    this.newKey = newKey
    this.view = new ChatView(columns, thread.nameOf)
  }

  /** Begins another conversation. */
  restart(thread: ChatThread): void {
    this.thread = thread
    this.view = new ChatView(this.columns, thread.nameOf)
  }

  /** Whether the text is the input of an approval. */
  get isEditing(): boolean {
    return this.decision.isEditing
  }

  /** Whether the text is a secret. */
  get isHidden(): boolean {
    return this.answering.isHidden
  }

  /** Whether the text stays out of the history. */
  get isPrivate(): boolean {
    return this.isEditing || this.isHidden
  }

  /** How to answer what waits for the user: approvals first. */
  get question(): string | undefined {
    const { decision, question } = this.view
    if (decision !== undefined) return decisionQuestion(decision.next.block.request, decision.count)
    return question === undefined ? undefined : this.answering.prompt(question.next, question.count)
  }

  private get state(): string {
    const { view } = this
    if (view.connection === "lost") return "reconnecting"
    if (view.decision !== undefined) return "needs your decision"
    if (view.question !== undefined) return "needs your answer"
    if (!view.isWorking) return view.held === 0 ? "ready" : `${view.held} held · /continue`
    if (view.isPaused) return "paused"
    if (view.idle.length < view.activeRuns.length) return "working"
    const titles = view.idle.flatMap((run) => run.titles)
    return titles.length === 0 ? "working" : `${backgroundText(titles.length, titles)} · /finish`
  }

  get status(): string {
    const model = this.model === undefined ? "" : ` · ${this.model}`
    const limits = limitsText(this.limits)
    const budget = limits === "" ? "" : ` · ${limits}`
    return `${this.state} · ${this.thread.place()} · ${this.mode ?? this.thread.mode()}${model}${budget}`
  }

  get files(): ReadonlyArray<LocalFile> {
    return this.attached.files
  }

  /** Adds a file to the next message. */
  attach(file: LocalFile): void {
    const problem = this.attached.add(file)
    if (problem !== undefined) this.view.notice(problem, "yellow")
  }

  /** The question is on the screen. */
  questionShown(now: number): void {
    const { decision, question } = this.view
    if (decision !== undefined) this.decision.shown(decision.next.block, now)
    else if (question !== undefined) this.answering.shown(question.next.block, now)
  }

  /** Handles a line. `typedAt`: the time of its first key. */
  submit(text: string, typedAt: number): ReadonlyArray<ChatWork> {
    this.interruptedAt = -Infinity
    const decided = this.decide(text, typedAt)
    if (decided !== undefined) return this.decisionWork(decided)
    const { decision, question } = this.view
    const answered =
      decision === undefined && question !== undefined
        ? this.answering.submit(question.next, question.count, text, typedAt)
        : undefined
    return answered === undefined ? this.handleLine(text) : this.answerWork(answered)
  }

  private handleLine(text: string): ReadonlyArray<ChatWork> {
    const line = parseLine(text)
    switch (line.kind) {
      case "empty":
        return []
      case "invalid":
        this.view.notice(line.message, "yellow")
        return []
      case "command":
        return this.command(line.name, line.argument)
      case "message":
        return this.sendMessage(line)
    }
  }

  private sendMessage(line: { readonly text: string; readonly isInput: boolean }): ReadonlyArray<ChatWork> {
    const { isInput, text } = line
    const files = this.attached.take()
    const { limits, mode, model } = this
    const message = { text, isInput, files, key: this.newKey(), mode, model, limits }
    this.view.keep({ ...message, state: "sending" })
    return [{ kind: "send", message }]
  }

  /** Ctrl-C: gives up an edit or a text, then stops the agent, then leaves. */
  interrupt(text: string, now: number): ReadonlyArray<ChatWork> {
    if (this.isEditing || this.answering.isCancellable) return this.escape()
    if (now - this.interruptedAt < LEAVE_WITHIN_MS) return [{ kind: "leave" }]
    this.interruptedAt = now
    if (text !== "") this.nextText = ""
    const { activeRuns } = this.view
    return text === "" && activeRuns.length > 0 ? [{ kind: "stop", runs: activeRuns }] : []
  }

  /** What a second Ctrl-C does, after a first one. */
  hint(now: number): string | undefined {
    return now - this.interruptedAt < LEAVE_WITHIN_MS ? "Press Ctrl-C again to leave." : undefined
  }

  /** Gives up an edit, or a text that was offered as an answer. */
  escape(): ReadonlyArray<ChatWork> {
    return this.isEditing || !this.answering.isCancellable
      ? this.decisionWork(this.decision.cancelEdit())
      : this.answerWork(this.answering.cancel())
  }

  /** The message was not accepted. A lost connection keeps it; a refusal ends it. */
  sendFailed(message: OutgoingMessage, { message: problem, unreachable }: CommandFailed): void {
    const { files, isInput, key, text } = message
    this.view.keep({ key, text, files, isInput, state: "unsent" })
    this.view.notice(
      unreachable === true ? "Not sent: no connection. /retry sends it again." : `Not sent: ${problem}`,
      "yellow"
    )
  }

  private decide(text: string, typedAt: number): DecisionOutcome | undefined {
    if (this.isEditing) return this.decision.submitEdit(text)
    const { decision } = this.view
    return decision === undefined ? undefined : this.decision.answer(decision.next.block, text, typedAt)
  }

  private decisionWork({ decided, nextText, warning }: DecisionOutcome): ReadonlyArray<ChatWork> {
    if (warning !== undefined) this.view.notice(warning, "yellow")
    if (nextText !== undefined) this.nextText = nextText
    return decided === undefined ? [] : [{ kind: "decide", ...decided }]
  }

  private answerWork({ answered, message, nextText, warning }: QuestionOutcome): ReadonlyArray<ChatWork> {
    if (warning !== undefined) this.view.notice(warning, "yellow")
    if (nextText !== undefined) this.nextText = nextText
    if (message !== undefined) return this.sendMessage({ text: message, isInput: false })
    return answered === undefined ? [] : [{ kind: "answer", ...answered }]
  }

  /** `/answer` and `/skip`. */
  private answerQuestion(answer: (next: PendingQuestion) => QuestionOutcome): ReadonlyArray<ChatWork> {
    const { question } = this.view
    if (question !== undefined) return this.answerWork(answer(question.next))
    this.view.notice("No question is open.")
    return []
  }

  private finish(): ReadonlyArray<ChatWork> {
    const runs = this.view.idle.map(({ runId }) => runId)
    if (runs.length > 0) return [{ kind: "finish", runs }]
    this.view.notice(
      this.view.activeRuns.length > 0
        ? "The agent is still in its turn. /stop stops it."
        : "The agent is not working."
    )
    return []
  }

  private command(name: ChatCommandName, argument: string): ReadonlyArray<ChatWork> {
    switch (name) {
      case "answer":
        return this.answerQuestion((next) => this.answering.answerWith(next, argument))
      case "skip":
        return this.answerQuestion((next) => this.answering.decline(next))
      case "finish":
        return this.finish()
      case "help":
        for (const line of helpLines) this.view.notice(line)
        return []
      case "new":
        return [{ kind: "new" }]
      case "agent":
        return [{ kind: "agent", name: argument }]
      case "mode":
        return this.chooseMode(argument)
      case "model":
        this.model = argument === "" ? undefined : argument
        this.view.notice(argument === "" ? "Model: the agent's own." : `Model: ${argument}.`)
        return []
      case "budget":
        return this.chooseLimits(argument)
      case "attach":
        return this.requestFile(argument)
      case "detach":
        this.view.notice(this.attached.remove(argument))
        return []
      case "stop":
      case "pause":
        return this.change(name)
      case "unpause":
        return this.change("resume")
      case "continue":
        return this.continueQueue()
      case "diff":
        return this.ofTurn((run) => ({ kind: "diff", run }))
      case "compare":
        return this.ofTurn((run) => ({ kind: "compare", run }))
      case "accept":
      case "reject":
        if (argument === "") {
          this.view.notice(
            `Name what you ${name}: /${name} all, a path, or an id that /changes shows.`,
            "yellow"
          )
          return []
        }
        return this.ofTurn((run) => ({ kind: name, run, named: argument }))
      case "changes":
      case "undo":
        return this.ofTurn((run) => ({ kind: name, run, named: argument }))
      case "retry":
        return this.retry()
      case "withdraw":
        return this.withdraw()
      case "quit":
        return [{ kind: "leave" }]
    }
  }

  private requestFile(argument: string): ReadonlyArray<ChatWork> {
    const path = typedPath(argument)
    if (!this.thread.acceptsFiles)
      this.view.notice("Files need a Hub: an Edge alone does not store them.", "yellow")
    else if (path === "") this.view.notice("Name a file: /attach FILE.", "yellow")
    else return [{ kind: "attach", path }]
    return []
  }

  private chooseMode(argument: string): ReadonlyArray<ChatWork> {
    const mode = RunMode.literals.find((each) => each === argument)
    if (mode !== undefined) this.mode = mode
    const current = `Mode: ${this.mode ?? this.thread.mode()}.`
    this.view.notice(mode === undefined ? `${current} Modes: ${RunMode.literals.join(", ")}.` : current)
    return []
  }

  private chooseLimits(argument: string): ReadonlyArray<ChatWork> {
    const limits = argument === "" ? this.limits : parseLimits(argument)
    if ("problem" in limits) this.view.notice(limits.problem, "yellow")
    else {
      this.limits = limits
      const text = limitsText(limits)
      this.view.notice(text === "" ? "Limits: the agent's own." : `Limits: ${text}.`)
    }
    return []
  }

  private change(kind: "stop" | "pause" | "resume"): ReadonlyArray<ChatWork> {
    const { activeRuns } = this.view
    if (activeRuns.length > 0) return [{ kind, runs: activeRuns }]
    this.view.notice("The agent is not working.")
    return []
  }

  private continueQueue(): ReadonlyArray<ChatWork> {
    if (this.view.held > 0) return [{ kind: "continue" }]
    this.view.notice("No messages are held.")
    return []
  }

  /** Work about the last turn. */
  private ofTurn(work: (run: RunId) => ChatWork): ReadonlyArray<ChatWork> {
    const run = this.view.latestRun ?? this.view.activeRuns.at(-1)
    if (run !== undefined) return [work(run)]
    this.view.notice("No turn in this chat yet.")
    return []
  }

  private retry(): ReadonlyArray<ChatWork> {
    const unsent = this.view.outbox.filter(({ state }) => state === "unsent")
    for (const message of unsent) this.view.keep({ ...message, state: "sending" })
    const failed = this.view.takeFailed()
    if (unsent.length + failed.length === 0) this.view.notice("All messages were sent.")
    return [
      ...unsent.map(({ files, isInput, key, text }): ChatWork => {
        const { limits, mode, model } = this
        const message = { key, text, files, isInput, mode, model, limits }
        return { kind: "send", message }
      }),
      ...failed.map((id): ChatWork => ({ kind: "retry", id }))
    ]
  }

  private withdraw(): ReadonlyArray<ChatWork> {
    const unsent = this.view.outbox.findLast(({ state }) => state === "unsent")
    const last = this.view.queued.findLast(({ author }) => author === undefined)
    if (unsent !== undefined) {
      this.view.release(unsent.key)
      for (const file of unsent.files) this.attach(file)
      this.nextText = unsent.text
    } else if (last === undefined) this.view.notice("No message of yours is queued.")
    else {
      this.nextText = last.text
      if (last.files.length > 0)
        this.view.notice(`Attach its files again with /attach: ${fileNames(last.files)}`)
      return [{ kind: "withdraw", id: last.id }]
    }
    return []
  }
}
