/**
 * Chat at a terminal, with its keyboard, signals and size, which it gives back at the end: draws, reads keys, and does what lines ask for, until
 * the user leaves.
 *
 * Guarantees: the keyboard never waits for the service. Messages that no service accepted are printed at the end, and the text that was being
 * written is in the history.
 */
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { RunLimits } from "@corral/domain/run/Budget"
import { Clock, Effect, FiberSet, Queue, type Scope } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { textWithFiles } from "../attachment/LocalFile.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { EditorListener, LineEditor } from "../terminal/LineEditor.ts"
import { LiveArea } from "../terminal/LiveArea.ts"
import { makePaint, type Paint, paintRow } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { Chat, type ChatWork } from "./Chat.ts"
import { completionsOf } from "./ChatCommands.ts"
import type { ChatHistory } from "./ChatHistory.ts"
import { ChatRequests } from "./ChatRequests.ts"
import { type ChatView, screenRows } from "./ChatView.ts"
import type { ChatThread, ThreadUpdate } from "./ChatThread.ts"

/** Prints messages that no service has, and adds them to the history. */
const reportUnsent = (view: ChatView, history: ChatHistory): void => {
  const unsent = [...view.outbox, ...view.queued.filter(({ state }) => state === "waiting")]
  for (const { files, text } of unsent) {
    view.notice(`Not sent: ${textWithFiles(text, files)}`, "yellow")
    history.add(text)
  }
}

/** Says what continues, and how the user returns. */
const reportContinuation = (view: ChatView, thread: ChatThread, invocation: string): void => {
  const queued = view.queued.filter(({ state }) => state === "queued").length
  if (queued > 0)
    view.notice(
      `${queued === 1 ? "One message is" : `${queued} messages are`} queued. The agent receives what is queued.`
    )
  if (view.activeRuns.length > 0) view.notice("The agent continues its turn.")
  const id = thread.id()
  if (id !== undefined)
    view.notice(`Continue with \`${invocation} chat --resume ${id}${thread.server.named}\``)
}

/** What a chat reacts to: keys of the user, and updates of the conversation. */
type ChatSignal =
  | { readonly kind: "update"; readonly update: ThreadUpdate }
  | { readonly kind: "submit"; readonly text: string; readonly typedAt: number }
  | { readonly kind: "interrupt" | "escape" | "end" | "redraw" | "draw" }

/** Keys as signals. */
const keyboard = (
  signals: Queue.Enqueue<ChatSignal>,
  history: ChatHistory,
  clock: Clock.Clock
): EditorListener => {
  const offer = (signal: ChatSignal) => Queue.offerUnsafe(signals, signal)
  return {
    onChange: () => offer({ kind: "draw" }),
    onSubmit: (text, typedAt) => offer({ kind: "submit", text, typedAt }),
    onInterrupt: () => offer({ kind: "interrupt" }),
    onEscape: () => offer({ kind: "escape" }),
    onEnd: () => offer({ kind: "end" }),
    onRedraw: () => offer({ kind: "redraw" }),
    onHistory: (direction, text) => history.move(direction, text),
    complete: completionsOf,
    now: () => clock.currentTimeMillisUnsafe()
  }
}

interface ChatLoopOptions {
  readonly thread: ChatThread
  /** Another conversation with the same agent, for `/new`. */
  readonly startNew: Effect.Effect<ChatThread, CommandFailed>
  readonly history: ChatHistory
  /** Limits of the messages, until `/budget` changes them. */
  readonly limits: RunLimits
}

const SHOWN_HISTORY = 20
/** Between two drawings without a key. */
const DRAW_EVERY = "40 millis"
const MIN_COLUMNS = 20
/** A hint on the screen disappears by itself. */
const HINT_FOR = "5100 millis"

/** One chat until it ends. */
class ChatLoop {
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
    this.chat = new Chat(options.thread, () => this.columns, newIdempotencyKey, options.limits)
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

const BEGIN_PASTE_MARKS = "\u001b[?2004h"
const END_PASTE_MARKS = "\u001b[?2004l"

/** One chat with the keyboard, signals and the size of the terminal, which it gives back at the end. Chats until the user leaves. */
export const runChat = Effect.fn("ChatLoop.runChat")(function* (options: ChatLoopOptions) {
  const host = yield* Host
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const signals = yield* Queue.unbounded<ChatSignal>()
  const loop = new ChatLoop(options, host, clock, scope, signals, yield* FiberSet.make())
  yield* Effect.acquireRelease(
    Effect.sync(() => host.onResize(() => void Queue.offerUnsafe(signals, { kind: "draw" }))),
    (stop) => Effect.sync(stop)
  )
  yield* receiveSignal("SIGINT", () => void Queue.offerUnsafe(signals, { kind: "interrupt" }))
  yield* Effect.acquireRelease(
    Effect.sync(() => host.write(BEGIN_PASTE_MARKS)),
    () =>
      Effect.sync(() => {
        loop.close()
        host.write(END_PASTE_MARKS)
      })
  )
  yield* loop.run
  yield* host.written
}, Effect.scoped)
