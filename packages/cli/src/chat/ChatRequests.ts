/**
 * Requests of a chat to its service, in the background. Outcomes and failures are shown in the chat.
 *
 * Guarantees: messages are sent one after another, in the order in which they were written.
 */
import { Effect, FiberSet, Semaphore } from "effect"
import { openFile } from "../attachment/LocalFile.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import { groupOfRun, groupRows, groupsOf, readGroup } from "../run/Candidates.ts"
import { decidedLine, decideNamed, namedRows, patchText } from "../run/ChangeParts.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import { wrapIndented } from "../terminal/Rows.ts"
import { type Row } from "../terminal/Rows.ts"
import type { Chat, ChatWork } from "./Chat.ts"
import type { ChatThread } from "./ChatThread.ts"

/** Work that the service does. */
export type ServiceWork = Exclude<ChatWork, { readonly kind: "new" | "leave" }>

export interface ChatRequestsOptions {
  readonly chat: Chat
  readonly fibers: FiberSet.FiberSet
  readonly columns: () => number
  /** Command name, for suggested commands. */
  readonly invocation: string
  /** The chat shows something else than before. */
  readonly onChange: () => void
}

const MAX_DIFF_LINES = 400
/** Longest wait for requests when the user leaves. */
const REQUESTS_FOR = "3 seconds"

export class ChatRequests {
  private readonly options: ChatRequestsOptions
  private readonly chat: Chat
  private readonly sending = Semaphore.makeUnsafe(1)

  constructor(options: ChatRequestsOptions) {
    this.options = options
    this.chat = options.chat
  }

  /** Waits for requests that are on their way: a message, or one to stop. */
  get end(): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(FiberSet.awaitEmpty(this.options.fibers), REQUESTS_FOR))
  }

  start(work: ServiceWork): Effect.Effect<void> {
    const { thread, view } = this.chat
    switch (work.kind) {
      case "send":
        return this.send(work)
      case "decide":
        return this.call(
          thread.server.decide(work.id, work.decision).pipe(
            // The events show an earlier decision of another user.
            Effect.catchIf(
              ({ code }) => code === "approval_already_resolved" || code === "approval_expired",
              () => Effect.void
            )
          )
        )
      case "answer":
        return this.call(
          thread.server.answer(work.id, work.answer).pipe(
            Effect.flatMap((answered) => thread.carryOut(answered)),
            // The events show an earlier answer of another user.
            Effect.catchIf(
              ({ code }) => code === "input_already_resolved",
              () => Effect.void
            )
          )
        )
      case "finish":
        return this.call(Effect.forEach(work.runs, (run) => thread.server.finish(run)))
      case "stop":
        view.notice("Stopping the agent.")
        return this.call(
          Effect.forEach(work.runs, (run) =>
            Effect.catchIf(
              thread.server.cancel(run),
              ({ code }) => code === "run_not_cancellable",
              () => Effect.void
            )
          )
        )
      case "pause":
      case "resume":
        // The run's events say what happened.
        return this.call(Effect.forEach(work.runs, (run) => thread.server[work.kind](run)))
      case "retry":
        return this.call(thread.retry(work.id))
      case "withdraw":
        return this.call(thread.withdraw(work.id))
      case "continue":
        return this.call(thread.continueQueue)
      case "diff":
        return this.call(thread.server.diff(work.run), (diff) => this.showDiff(diff, work.run))
      case "compare":
        return this.call(this.comparison(thread, work.run), (rows) =>
          this.showRows(rows, `compare ${work.run}`)
        )
      case "changes":
        return this.call(namedRows(thread.server, work.run, work.named), (rows) =>
          this.showRows(rows, `changes ${work.run}`)
        )
      case "accept":
      case "reject":
      case "undo":
        return this.call(decideNamed(thread.server, work.run, work.kind, work.named), (decided) =>
          view.notice(decidedLine(decided))
        )
      case "attach":
        return this.attach(work.path)
      case "agent":
        return this.call(this.chooseAgent(thread, work.name))
    }
  }

  private comparison({ server }: ChatThread, run: RunId): Effect.Effect<ReadonlyArray<Row>, CommandFailed> {
    return Effect.gen(function* () {
      const groups = yield* groupsOf(server)
      const { comparison, group } = yield* readGroup(groups, yield* groupOfRun(server, run))
      return groupRows(group, comparison)
    })
  }

  private run(work: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.asVoid(FiberSet.run(this.options.fibers, work))
  }

  private changed(change: () => void): void {
    change()
    this.options.onChange()
  }

  /** A failure is a notice. */
  private call<A>(work: Effect.Effect<A, CommandFailed>, done: (result: A) => void = () => undefined) {
    return this.run(
      work.pipe(
        Effect.match({
          onSuccess: (result) => this.changed(() => done(result)),
          onFailure: ({ message }) => this.changed(() => this.chat.view.notice(message, "yellow"))
        })
      )
    )
  }

  private send({ message }: Extract<ChatWork, { readonly kind: "send" }>): Effect.Effect<void> {
    const { thread, view } = this.chat
    const send = thread.send(message).pipe(
      Effect.match({
        onSuccess: (accepted) =>
          this.changed(() => {
            view.release(message.key)
            view.apply({ kind: "message", message: accepted })
          }),
        onFailure: (failure) => this.changed(() => this.chat.sendFailed(message, failure))
      })
    )
    return this.run(this.sending.withPermit(send))
  }

  /** Waits for the file, so that the next message has it. */
  private attach(path: string): Effect.Effect<void> {
    return Effect.match(openFile(path), {
      onSuccess: (file) => this.chat.attach(file),
      onFailure: ({ message }) => this.chat.view.notice(message, "yellow")
    })
  }

  private showDiff(diff: Parameters<typeof patchText>[0], run: RunId): void {
    const lines = patchText(diff)
    if (lines.length === 0) return this.chat.view.notice("The turn changed no files.")
    this.showRows(lines, `diff ${run}`)
  }

  /** `command` shows the same, without a limit. */
  private showRows(lines: ReadonlyArray<Row>, command: string): void {
    const { view } = this.chat
    const { columns, invocation } = this.options
    const shown = lines.slice(0, MAX_DIFF_LINES)
    view.show(shown.flatMap((line) => wrapIndented(line, columns(), [], [{ text: "  " }], "anywhere")))
    if (lines.length > shown.length)
      view.notice(`${lines.length - shown.length} more lines. \`${invocation} ${command}\` shows all.`)
  }

  private chooseAgent(thread: ChatThread, name: string): Effect.Effect<void, CommandFailed> {
    const { view } = this.chat
    return Effect.gen(function* () {
      const options = yield* thread.agents
      const wanted = options.filter((option) => option.name === name)
      const [option] =
        wanted.length > 0 ? wanted : options.filter(({ id }) => name !== "" && id.startsWith(name))
      if (option !== undefined) {
        yield* thread.chooseAgent(option)
        return view.notice(`Next messages go to ${escapeLine(option.name)}.`)
      }
      if (name !== "") view.notice(`No agent is named ${escapeLine(name)}.`, "yellow")
      for (const { about, isCurrent, name: shown } of options)
        view.notice(
          `${isCurrent ? "›" : " "} ${escapeLine(shown)}${about === "" ? "" : `  ${escapeControls(about)}`}`
        )
    })
  }
}
