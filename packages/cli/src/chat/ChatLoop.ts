/**
 * Chat at a terminal: draws, reads keys, and does what lines ask for, until the user leaves.
 *
 * Guarantees: the keyboard never waits for the service. Messages that no service accepted are printed at the end, and the text that was being
 * written is in the history.
 */
import { newIdempotencyKey } from "@corral/client/http/Transport"
import { type Clock, Effect, type FiberSet, Queue, type Scope } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import type { Host } from "../terminal/Host.ts"
import { LiveArea } from "../terminal/LiveArea.ts"
import type { LineEditor } from "../terminal/LineEditor.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { paintRow } from "../terminal/WrapText.ts"
import { Chat, type ChatWork } from "./Chat.ts"
import type { ChatHistory } from "./ChatHistory.ts"
import { ChatRequests } from "./ChatRequests.ts"
import { screenRows } from "./ChatScreen.ts"
import { type ChatSignal, keyboard } from "./ChatSignals.ts"
import type { ChatThread } from "./ChatThread.ts"
import { reportContinuation, reportUnsent } from "./Departure.ts"

export interface ChatLoopOptions {
  readonly thread: ChatThread
  /** Another conversation with the same agent, for `/new`. */
  readonly startNew: Effect.Effect<ChatThread, CommandFailed>
  readonly history: ChatHistory
}

const SHOWN_HISTORY = 20
/** Between two drawings without a key. */
const DRAW_EVERY = "40 millis"
const MIN_COLUMNS = 20
/** A hint on the screen disappears by itself. */
const HINT_FOR = "5100 millis"

/** One chat until it ends. */
export class ChatLoop {
  private readonly host: Host["Service"]
  private readonly options: ChatLoopOptions
  private readonly chat: Chat
  private readonly area: LiveArea
  private readonly paint: Paint
  private readonly signals: Queue.Queue<ChatSignal>
  private readonly clock: Clock.Clock
  private readonly scope: Scope.Scope
  private readonly requests: ChatRequests
  private readonly editor: LineEditor
  private stopFollowing: Effect.Effect<void> = Effect.void
  private isLeaving = false

  constructor(
    options: ChatLoopOptions,
    host: Host["Service"],
    clock: Clock.Clock,
    scope: Scope.Scope,
    signals: Queue.Queue<ChatSignal>,
    fibers: FiberSet.FiberSet
  ) {
    this.options = options
    this.host = host
    this.clock = clock
    this.scope = scope
    this.signals = signals
    this.paint = makePaint(host.colours)
    this.area = new LiveArea(host.write)
    this.chat = new Chat(options.thread, () => this.columns, newIdempotencyKey)
    this.requests = new ChatRequests({
      chat: this.chat,
      fibers,
      columns: () => this.columns,
      invocation: host.invocation,
      onChange: () => this.redraw()
    })
    this.editor = host.openEditor(keyboard(signals, options.history, clock))
  }

  /** One column is free, so that no terminal wraps a full row. */
  private get columns(): number {
    return Math.max(MIN_COLUMNS, this.host.size().columns) - 1
  }

  readonly run = Effect.gen({ self: this }, function* () {
    this.chat.view.notice(
      "/help lists the commands. Ctrl-C stops the agent; a second one leaves, and nothing is lost."
    )
    yield* this.open()
    this.draw()
    while (!this.isLeaving) {
      const batch = yield* Queue.takeAll(this.signals)
      for (const signal of batch) yield* this.handle(signal)
      if (this.isLeaving) break
      this.draw()
      if (batch.every(({ kind }) => kind === "update")) yield* Effect.sleep(DRAW_EVERY)
    }
    // A request to stop, or a message, may be on its way.
    yield* this.requests.end
    for (const signal of yield* Queue.clear(this.signals))
      if (signal.kind === "update") this.chat.view.apply(signal.update)
    this.leave()
  })

  /** Gives the keyboard back. */
  close(): void {
    this.editor.close()
  }

  /** Shows the conversation and follows it. */
  private open() {
    const { thread } = this.chat
    const updates = this.signals
    return Effect.gen({ self: this }, function* () {
      this.chat.view.showHistory(yield* thread.history(SHOWN_HISTORY))
      const fiber = yield* thread
        .follow((update) => void Queue.offerUnsafe(updates, { kind: "update", update }))
        .pipe(
          Effect.catch(({ message }) =>
            Effect.sync(() => {
              this.chat.view.notice(message, "red")
              this.redraw()
            })
          ),
          Effect.forkIn(this.scope)
        )
      this.stopFollowing = Effect.sync(() => fiber.interruptUnsafe())
    })
  }

  private redraw(): void {
    Queue.offerUnsafe(this.signals, { kind: "draw" })
  }

  private handle(signal: ChatSignal): Effect.Effect<void> {
    const now = this.clock.currentTimeMillisUnsafe()
    switch (signal.kind) {
      case "update":
        return Effect.sync(() => this.chat.view.apply(signal.update))
      case "submit": {
        const isAnswer = signal.text.trim().length < 2 || this.chat.isPrivate
        if (!isAnswer) this.options.history.add(signal.text)
        return this.perform(this.chat.submit(signal.text, signal.typedAt))
      }
      case "interrupt": {
        const { text } = this.editor
        if (text.trim().length > 1 && !this.chat.isPrivate) this.options.history.add(text)
        this.redraw()
        const later = Effect.delay(
          Effect.sync(() => this.redraw()),
          HINT_FOR
        )
        return Effect.andThen(
          this.perform(this.chat.interrupt(text, now)),
          Effect.asVoid(Effect.forkIn(later, this.scope))
        )
      }
      case "escape":
        return this.perform(this.chat.escape())
      case "end":
        return Effect.sync(() => void (this.isLeaving = true))
      case "redraw":
        return Effect.sync(() => {
          this.area.forget()
          this.host.write("\u001b[2J\u001b[H")
        })
      case "draw":
        return Effect.void
    }
  }

  private perform(work: ReadonlyArray<ChatWork>): Effect.Effect<void> {
    const { nextText } = this.chat
    this.chat.nextText = undefined
    if (nextText !== undefined) this.editor.set(nextText)
    return Effect.forEach(work, (each) => this.performOne(each), { discard: true })
  }

  private performOne(work: ChatWork): Effect.Effect<void> {
    switch (work.kind) {
      case "new":
        return this.restart()
      case "leave":
        return Effect.sync(() => void (this.isLeaving = true))
      default:
        return this.requests.start(work)
    }
  }

  private restart(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const thread = yield* this.options.startNew
      yield* this.stopFollowing
      reportUnsent(this.chat.view, this.options.history)
      this.area.close([], this.columns)
      this.chat.restart(thread)
      this.chat.view.notice("New conversation.")
      yield* this.open()
    }).pipe(Effect.catch(({ message }) => Effect.sync(() => this.chat.view.notice(message, "red"))))
  }

  private draw(): void {
    const { chat, columns, editor } = this
    const now = this.clock.currentTimeMillisUnsafe()
    const settled = chat.view.take().map((row) => paintRow(row, this.paint))
    const content = {
      live: chat.view.live(),
      question: chat.isEditing ? "Edit, then Enter allows it. Ctrl-C keeps the question." : chat.question,
      status: escapeLine(chat.status),
      hint: chat.hint(now),
      files: chat.files,
      prompt: chat.isEditing ? "edit> " : chat.isHidden ? "secret> " : "> ",
      isHidden: chat.isHidden,
      text: editor.text,
      before: editor.before
    }
    this.area.draw(settled, screenRows(content, columns, this.paint), columns + 1)
    chat.questionShown(now)
  }

  private leave(): void {
    const { thread, view } = this.chat
    if (this.editor.text.trim() !== "" && !this.chat.isPrivate) this.options.history.add(this.editor.text)
    this.editor.close()
    reportUnsent(view, this.options.history)
    reportContinuation(view, thread, this.host.invocation)
    this.area.close(
      view.take().map((row) => paintRow(row, this.paint)),
      this.columns + 1
    )
  }
}
