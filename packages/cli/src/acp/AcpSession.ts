/**
 * One session that an editor has open: its messages, runs and dialogs.
 *
 * Guarantees: updates are sent in order, each once, and the answer to a prompt after the updates of its turn. A run continues when the editor goes
 * away.
 */
import type { SessionConfigOption } from "@agentclientprotocol/sdk"
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { RunId } from "@corral/domain/identity/Ids"
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { Deferred, Effect, type Fiber, FiberSet } from "effect"
import { join } from "node:path"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { ThreadMessage, ThreadUpdate } from "../chat/ChatThread.ts"
import { followTurn } from "../chat/FollowTurn.ts"
import { Dialogs } from "./Dialogs.ts"
import { type EditorClient, Outbox } from "./EditorClient.ts"
import type { OpenedSession } from "./EditorSessions.ts"
import { paragraph, type PromptMessage, textBlock } from "./Content.ts"
import { PromptTurn, type TurnEnd } from "./PromptTurn.ts"
import { RunUpdates } from "./RunUpdates.ts"

/** Messages of a session that an editor loads. */
const MAX_HISTORY = 10_000
const MAX_UNDECIDED = 100

export interface AcpSessionOptions {
  readonly opened: OpenedSession
  readonly client: EditorClient
  readonly invocation: string
  readonly service: "Edge" | "Hub"
  readonly fibers: FiberSet.FiberSet
  /** The service no longer accepts the user here. */
  readonly onLost: (failure: CommandFailed) => void
  /** A choice of the session has changed without a request of the editor. */
  readonly onChoice: (session: AcpSession) => void
}

interface CatchingUp {
  readonly seq: number
  /** Whether the editor has what happened before. */
  readonly isSilent: boolean
  readonly done: Deferred.Deferred<void>
}

export class AcpSession {
  readonly opened: OpenedSession
  mode: RunMode
  model: string | undefined
  /** Tokens of the last turn. */
  usage: RunUpdates["usage"]
  private readonly options: AcpSessionOptions
  private readonly outbox = new Outbox()
  private readonly dialogs: Dialogs
  private readonly runs = new Map<RunId, RunUpdates>()
  /** Runs whose beginning the editor has, or does not get. */
  private readonly shownRuns = new Set<RunId>()
  private readonly shownMessages = new Set<string>()
  private readonly catchingUp = new Map<RunId, CatchingUp>()
  private prompt: PromptTurn | undefined
  /** Messages of this user that may be the prompt, until the service has said which one is. */
  private readonly undecided: Array<ThreadMessage> = []
  private later: string | undefined
  private isConnected = true
  private readonly ended = Deferred.makeUnsafe<void>()

  constructor(options: AcpSessionOptions) {
    const { client, invocation, opened } = options
    this.options = options
    this.opened = opened
    this.mode = opened.thread.mode()
    this.dialogs = new Dialogs({
      sessionId: opened.id,
      client,
      thread: opened.thread,
      modes: opened.modes,
      pathOf: (path) => this.pathOf(path),
      invocation,
      send: (update) => this.outbox.push([update]),
      onPlanMode: (mode) => this.setMode(mode),
      fork: (dialog) => this.fork(dialog)
    })
  }

  get isBusy(): boolean {
    return this.prompt !== undefined
  }

  /** Writes updates, until the session is closed. */
  get writing(): Effect.Effect<never> {
    const { client, opened } = this.options
    return this.outbox.writing(
      (update) => client.update(opened.id, update),
      () => this.dialogs.reconcile(this.runs.values())
    )
  }

  /** Follows the session, until the service no longer accepts the user. */
  get following(): Effect.Effect<void> {
    const { onLost } = this.options
    return this.opened.thread
      .follow((update) => this.report(update), this.outbox.ready)
      .pipe(
        Effect.catch((failure) =>
          Effect.sync(() => {
            this.prompt?.fail(failure)
            onLost(failure)
          })
        )
      )
  }

  /** Sends what happened before, except for runs in progress, which `following` sends. */
  readonly replay: Effect.Effect<void, CommandFailed> = Effect.gen({ self: this }, function* () {
    const messages = yield* this.opened.thread.history(MAX_HISTORY)
    const active = new Set(this.opened.activeRuns())
    for (const message of messages) {
      const { runId } = message
      this.shownMessages.add(message.id)
      const isShown = runId !== undefined && this.shownRuns.has(runId)
      if (!isShown) this.showMessage(message)
      if (runId === undefined || isShown) continue
      this.shownRuns.add(runId)
      if (!active.has(runId)) yield* this.replayRun(runId)
      yield* this.outbox.ready
    }
    yield* this.catchUp(false)
  })

  /** The editor has what happened before. */
  readonly resume: Effect.Effect<void, CommandFailed> = Effect.gen({ self: this }, function* () {
    for (const { id, runId } of yield* this.opened.thread.history(MAX_HISTORY)) {
      this.shownMessages.add(id)
      if (runId !== undefined) this.shownRuns.add(runId)
    }
    yield* this.catchUp(true)
  })

  /** Completes when the editor has the events of runs in progress so far. `following` has shownRuns. */
  get caughtUp(): Effect.Effect<void> {
    const waits = [...this.catchingUp.values()].map(({ done }) => Deferred.await(done))
    return Effect.andThen(Effect.all(waits), this.outbox.flushed)
  }

  private readonly catchUp = Effect.fnUntraced(function* (this: AcpSession, isSilent: boolean) {
    for (const runId of this.opened.activeRuns()) {
      const { lastSeq } = yield* this.opened.thread.server.run(runId)
      if (lastSeq > 0)
        this.catchingUp.set(runId, { seq: lastSeq, isSilent, done: Deferred.makeUnsafe<void>() })
    }
  })

  /** The turn of this message, to its end. */
  send({ files, text }: PromptMessage): Effect.Effect<TurnEnd, CommandFailed> {
    return Effect.gen({ self: this }, function* () {
      if (this.later !== undefined) this.addLine("note", this.later)
      this.later = undefined
      const prompt = new PromptTurn(text, new Set(this.runs.keys()))
      this.prompt = prompt
      const { mode, model } = this
      const message = { key: newIdempotencyKey(), text, files, isInput: false, mode, model }
      const sent = yield* this.opened.thread.send(message)
      this.shownMessages.add(sent.id)
      prompt.update(sent)
      for (const each of this.undecided.splice(0)) this.message(each)
      if (prompt.isCancelled) yield* this.stop(prompt)
      const end = yield* prompt.end
      // Nothing is written after the end of the session.
      yield* Effect.raceFirst(this.outbox.flushed, Deferred.await(this.ended))
      return end
    }).pipe(Effect.ensuring(Effect.sync(() => this.endPrompt())))
  }

  /** The editor closes the session, or opens it again. Its prompt gets an answer. */
  end(): void {
    this.prompt?.finish("cancelled")
    Deferred.doneUnsafe(this.ended, Effect.void)
  }

  /** Stops the turn of the prompt. Does nothing without one: runs of other clients continue. */
  readonly cancel: Effect.Effect<void> = Effect.suspend(() => {
    const { prompt } = this
    if (prompt === undefined || prompt.isCancelled) return Effect.void
    prompt.isCancelled = true
    // Without an id the message is on its way to the service.
    return prompt.messageId === undefined ? Effect.void : this.stop(prompt)
  })

  setMode(mode: RunMode): void {
    if (this.mode === mode) return
    this.mode = mode
    this.outbox.push([{ sessionUpdate: "current_mode_update", currentModeId: mode }])
    this.options.onChoice(this)
  }

  /** The options of the session, as they are now. */
  showOptions(options: Array<SessionConfigOption>): void {
    this.outbox.push([{ sessionUpdate: "config_option_update", configOptions: options }])
  }

  /** Says something with the next prompt. */
  sayLater(text: string): void {
    this.later = text
  }

  private stop({ messageId, runId }: PromptTurn): Effect.Effect<void> {
    const { thread } = this.opened
    const withdrawal = messageId === undefined ? Effect.void : thread.withdraw(messageId)
    const call = runId === undefined ? withdrawal : Effect.asVoid(thread.server.cancel(runId))
    return Effect.match(call, {
      onSuccess: () => undefined,
      onFailure: ({ code, message }) => {
        if (code !== "run_not_cancellable") this.addLine("cancel", message)
      }
    })
  }

  private fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    return Effect.runSync(FiberSet.run(this.options.fibers, effect))
  }

  private pathOf(path: string): string {
    return join(this.opened.folder, path)
  }

  private addLine(id: string, text: string): void {
    this.outbox.push([paragraph(`${this.opened.id} ${id}`, text)])
  }

  private report(update: ThreadUpdate): void {
    switch (update.kind) {
      case "connection":
        return this.reportConnection(update.state === "live")
      case "message":
        return this.message(update.message)
      case "turn":
        this.beginRun(update.runId)
        return
      case "event":
        return this.event(update.runId, update.event)
      case "ended":
        return this.endRun(update)
      case "notice":
        return this.addLine("notice", update.text)
    }
  }

  private reportConnection(isConnected: boolean): void {
    if (this.isConnected === isConnected) return
    this.isConnected = isConnected
    const { service } = this.options
    this.addLine(
      "connection",
      isConnected ? `Connected to the ${service} again.` : `Lost connection to the ${service}. Reconnecting.`
    )
  }

  private message(message: ThreadMessage): void {
    const { prompt } = this
    if (prompt !== undefined && message.id === prompt.messageId) return prompt.update(message)
    const isUndecided = prompt !== undefined && prompt.messageId === undefined && message.author === undefined
    if (isUndecided && this.undecided.length < MAX_UNDECIDED) return void this.undecided.push(message)
    if (this.shownMessages.has(message.id)) return
    // A message that waits is shown when its run begins, and further input of a run with its events.
    if (message.state === "queued" || message.state === "waiting" || message.isHeld) return
    this.shownMessages.add(message.id)
    const { runId } = message
    // The answer to a prompt of this editor, too.
    if (runId !== undefined && (this.shownRuns.has(runId) || runId === prompt?.runId)) return
    if (runId !== undefined) this.shownRuns.add(runId)
    this.showMessage(message)
  }

  private showMessage({ author, problem, state, text }: ThreadMessage): void {
    if (text === "" && problem === undefined) return
    if (state === "answer") return this.outbox.push([paragraph("answer", problem ?? text)])
    const name = author === undefined ? "" : `${author}: `
    this.outbox.push([{ sessionUpdate: "user_message_chunk", content: textBlock(`${name}${text}`) }])
    if (state === "failed") this.addLine("failed", problem ?? "The message was not delivered.")
  }

  private beginRun(runId: RunId): RunUpdates {
    const found = this.runs.get(runId)
    if (found !== undefined) return found
    const run = new RunUpdates({
      runId,
      nameOf: this.opened.thread.nameOf,
      pathOf: (path) => this.pathOf(path),
      isOwnMessage: (text) => this.prompt?.text === text && this.prompt.runId === runId,
      isPromptOfEditor: () => this.prompt?.runId === runId
    })
    this.runs.set(runId, run)
    // At an Edge a message that begins again has another run.
    if (
      this.prompt?.messageId !== undefined &&
      this.prompt.runId === undefined &&
      this.options.service === "Edge"
    )
      this.prompt.bind(runId)
    return run
  }

  private event(runId: RunId, event: SequencedEvent): void {
    const run = this.beginRun(runId)
    const updates = run.apply(event)
    const { seq } = envelopeOf(event.decoded)
    const earlier = this.catchingUp.get(runId)
    if (earlier === undefined || !earlier.isSilent || seq > earlier.seq) this.outbox.push(updates)
    if (earlier !== undefined && seq >= earlier.seq) {
      if (earlier.isSilent) run.calls.forget()
      this.settle(runId)
    }
    this.usage = run.usage ?? this.usage
    if (event.decoded._tag === "KnownEvent") this.prompt?.observe(runId, event.decoded.event)
    // Dialogs follow when everything before them is written.
    this.outbox.touch()
  }

  private settle(runId: RunId): void {
    const earlier = this.catchingUp.get(runId)
    if (earlier === undefined) return
    this.catchingUp.delete(runId)
    Deferred.doneUnsafe(earlier.done, Effect.void)
  }

  private endRun({ code, problem, runId }: Extract<ThreadUpdate, { readonly kind: "ended" }>): void {
    this.runs.delete(runId)
    this.settle(runId)
    if (problem === undefined) return
    if (this.prompt?.runId === runId)
      this.prompt.fail(new CommandFailed({ message: problem, exitCode: exitCodes.refused, code }))
    else this.addLine(`${runId} lost`, problem)
  }

  private endPrompt(): void {
    const runId = this.prompt?.runId
    if (runId !== undefined) this.shownRuns.add(runId)
    this.prompt = undefined
    for (const message of this.undecided.splice(0)) this.message(message)
  }

  /** The events of a run that has ended. */
  private replayRun(runId: RunId): Effect.Effect<void> {
    const { server } = this.opened.thread
    return followTurn(server, {
      runId,
      agent: "",
      ready: this.outbox.ready,
      report: (update) => this.report(update)
    })
  }
}
