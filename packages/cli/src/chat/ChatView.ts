/**
 * What a chat shows: settled rows for the scrollback, of messages and of runs, and rows of what is in progress. Plain and synchronous.
 *
 * Guarantees: each message and each row of a run settles once. No row is wider than the columns.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import {
  fileNames,
  fileRows,
  type LocalFile,
  type NamedFile,
  textWithFiles
} from "../attachment/LocalFile.ts"
import type { LiveRows } from "../terminal/LiveArea.ts"
import { fitColumns, type Paint, paintRow, type Row, wrapIndented, wrapSpans } from "../terminal/Rows.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import type { ThreadMessage, ThreadUpdate } from "./ChatThread.ts"
import { ChatTurns, type IdleChatRun, type PendingDecision, type PendingQuestion } from "./ChatTurns.ts"
import { MarkdownRows } from "./MarkdownRows.ts"

type Rows = ReadonlyArray<Row>

/** A message that no service has accepted yet. */
interface Unsent {
  readonly key: string
  readonly text: string
  readonly files: ReadonlyArray<LocalFile>
  readonly isInput: boolean
  readonly state: "sending" | "unsent"
}

const MAX_WAITING_ROWS = 4

const chatMessageRows = ({ author, files, state, text }: ThreadMessage, columns: number): Rows => {
  const name = author === undefined ? "" : `${escapeLine(author)} `
  const note = state === "note" ? "note " : ""
  const rows = escapeControls(text)
    .trimEnd()
    .split("\n")
    .flatMap((line, at) =>
      wrapIndented(
        [
          { text: at === 0 ? `${name}${note}` : "", style: "dim" },
          { text: line, style: "bold" }
        ],
        columns,
        [{ text: at === 0 ? "› " : "  ", style: "green" }],
        [{ text: "  " }]
      )
    )
  return [...rows, ...fileRows(files, columns)]
}

/** Text of an answer whose run the chat did not follow. */
const answerRows = ({ text }: ThreadMessage, columns: () => number): Rows => {
  if (text === "") return []
  const markdown = new MarkdownRows(columns)
  const lines = escapeControls(text).trimEnd().split("\n")
  return [...lines.flatMap((line) => markdown.line(line)), ...markdown.end()]
}

/** Messages without a run: those that the service has, then those that it has not accepted. */
const waitingRows = (
  queued: ReadonlyArray<ThreadMessage>,
  unsent: ReadonlyArray<Unsent>,
  columns: number
): Rows => {
  const rows = [
    ...queued.map(
      ({ author, files, isHeld, text }) =>
        [
          isHeld ? "held" : "queued",
          `${author === undefined ? "" : `${author}: `}${textWithFiles(text, files)}`
        ] as const
    ),
    ...unsent.map(
      ({ files, state, text }) =>
        [state === "sending" ? "sending" : "not sent", textWithFiles(text, files)] as const
    )
  ]
  const shown = rows.slice(0, MAX_WAITING_ROWS).map(([label, text]): Row => {
    const room = columns - label.length - 2
    return [
      { text: `${label}: `, style: label === "not sent" ? "red" : "yellow" },
      { text: fitColumns(escapeLine(text), room), style: "dim" }
    ]
  })
  const more = rows.length - shown.length
  return more > 0 ? [...shown, [{ text: `and ${more} more`, style: "dim" }]] : shown
}

export class ChatView {
  connection: "live" | "lost" = "live"
  private readonly columns: () => number
  private readonly turns: ChatTurns
  private readonly queue = new Map<string, ThreadMessage>()
  private readonly printed = new Set<string>()
  /** Latest version of each message: a response can arrive after the feed. */
  private readonly versions = new Map<string, number>()
  private unsent: ReadonlyArray<Unsent> = []
  private readonly failed = new Set<string>()
  private settled: Array<Row> = []

  constructor(columns: () => number, nameOf: (user: string) => string) {
    this.columns = columns
    this.turns = new ChatTurns(columns, nameOf)
  }

  /** Rows that have settled since the last call. */
  take(): Rows {
    const rows = [...this.settled, ...this.turns.take()]
    this.settled = []
    return rows
  }

  get activeRuns(): ReadonlyArray<RunId> {
    return this.turns.active
  }

  /** The run that was shown last. */
  get latestRun(): RunId | undefined {
    return this.turns.latest
  }

  get queued(): ReadonlyArray<ThreadMessage> {
    return [...this.queue.values()]
  }

  /** Number of messages that are held. */
  get held(): number {
    return this.queued.filter(({ isHeld }) => isHeld).length
  }

  get outbox(): ReadonlyArray<Unsent> {
    return this.unsent
  }

  /** The oldest approval without a decision, and the number of all. */
  get decision(): { readonly next: PendingDecision; readonly count: number } | undefined {
    return this.turns.decision
  }

  /** The oldest question without an answer, and the number of all. */
  get question(): { readonly next: PendingQuestion; readonly count: number } | undefined {
    return this.turns.question
  }

  /** Runs whose agent has ended its turn, with the titles of their work in the background. */
  get idle(): ReadonlyArray<IdleChatRun> {
    return this.turns.idle
  }

  /** Whether an agent works on something that is not an approval or a question. */
  get isWorking(): boolean {
    return this.turns.isWorking
  }

  /** Whether all work in progress is paused. */
  get isPaused(): boolean {
    return this.turns.isPaused
  }

  /** Ids of the user's messages that were not delivered, once. */
  takeFailed(): ReadonlyArray<string> {
    const ids = [...this.failed]
    this.failed.clear()
    return ids
  }

  notice(text: string, style: "dim" | "yellow" | "red" = "dim"): void {
    for (const line of escapeControls(text).split("\n"))
      this.settled.push(...wrapSpans([{ text: line, style }], this.columns()))
  }

  /** Rows that a command made. */
  show(rows: Rows): void {
    this.settled.push(...rows)
  }

  keep(message: Unsent): void {
    const isNew = this.unsent.every(({ key }) => key !== message.key)
    this.unsent = isNew
      ? [...this.unsent, message]
      : this.unsent.map((each) => (each.key === message.key ? message : each))
  }

  /** The service accepted the message, or refused it. */
  release(key: string): void {
    this.unsent = this.unsent.filter((each) => each.key !== key)
  }

  apply(update: ThreadUpdate): void {
    switch (update.kind) {
      case "connection":
        return this.connect(update.state)
      case "message":
        return this.message(update.message)
      case "turn":
        return this.turns.begin(update.runId, update.agent)
      case "event":
        return this.turns.apply(update.runId, update.event)
      case "ended":
        return this.endTurn(update.runId, update.problem)
      case "notice":
        return this.notice(update.text, "yellow")
    }
  }

  /** Earlier messages of a resumed conversation. */
  showHistory(messages: ReadonlyArray<ThreadMessage>): void {
    for (const message of messages) {
      if (message.state === "queued" || message.state === "waiting") this.queue.set(message.id, message)
      else this.settleMessage(message)
      if (message.runId !== undefined) this.turns.resume(message.runId)
    }
  }

  /** Rows of what is in progress, then messages that wait. */
  live(): Rows {
    return [...this.turns.live(), ...waitingRows(this.queued, this.unsent, this.columns())]
  }

  private connect(state: "live" | "lost"): void {
    if (state === this.connection) return
    this.connection = state
    if (state === "lost") return this.notice("Connection lost. Reconnecting.", "yellow")
    this.notice("Reconnected.")
    const lost = this.unsent.filter((each) => each.state === "unsent").length
    if (lost > 0)
      this.notice(
        `${lost === 1 ? "One message was" : `${lost} messages were`} not sent. /retry sends again.`,
        "yellow"
      )
  }

  private message(message: ThreadMessage): void {
    const { author, id, state, text, version } = message
    if (version < (this.versions.get(id) ?? 0)) return
    this.versions.set(id, version)
    // A message whose response was lost.
    const lost = this.unsent.find((each) => each.state === "unsent" && each.text === text)
    if (author === undefined && lost !== undefined) this.release(lost.key)
    const wasHeld = this.held > 0
    this.queue.delete(id)
    if (state === "failed" && author === undefined) this.failed.add(id)
    else this.failed.delete(id)
    if (state === "queued" || state === "waiting") {
      this.queue.set(id, message)
      this.printed.delete(`${id} failed`)
      if (message.isHeld && !wasHeld)
        this.notice(
          "Queued messages are held. /continue sends them, and /withdraw takes back the last one.",
          "yellow"
        )
    } else this.settleMessage(message)
  }

  private settleMessage(message: ThreadMessage): void {
    const { hasTranscript, id, isInput, problem, runId, state } = message
    const stateKey = `${id} ${state}`
    if (this.printed.has(stateKey)) return
    this.printed.add(stateKey)
    // The rows of its run show it.
    if (this.turns.shows(runId) && (state === "answer" || isInput)) return
    if (state === "answer") return this.answer(message)
    if (state === "withdrawn") return this.notice(`Withdrawn: ${escapeLine(message.text)}`)
    this.show(chatMessageRows(message, this.columns()))
    if (hasTranscript)
      this.notice("This agent does not remember earlier turns. It received them as a text.", "yellow")
    if (state === "failed")
      this.notice(`Not delivered: ${problem ?? "no reason was reported"} /retry delivers again.`, "red")
  }

  private answer(message: ThreadMessage): void {
    const { author, problem } = message
    if (author !== undefined) this.notice(author)
    this.show(answerRows(message, this.columns))
    if (problem !== undefined) this.notice(`failed: ${problem}`, "red")
    this.settled.push([])
  }

  private endTurn(runId: RunId, problem: string | undefined): void {
    const rows = this.turns.end(runId)
    if (rows === undefined) return
    this.show(rows)
    if (problem !== undefined) this.notice(problem, "yellow")
    this.settled.push([])
  }
}

interface ScreenContent {
  readonly live: ReadonlyArray<Row>
  /** Question of an approval. */
  readonly question: string | undefined
  readonly status: string
  /** One line above the text: what a second Ctrl-C does. */
  readonly hint: string | undefined
  /** Files of the message that the user writes. */
  readonly files: ReadonlyArray<NamedFile>
  /** Label of the text. */
  readonly prompt: string
  readonly text: string
  /** Text before the cursor. */
  readonly before: string
  /** Whether the text is a secret. */
  readonly isHidden: boolean
}

const MAX_INPUT_ROWS = 6

/** Rows of the text with the label before them. */
const inputRows = (prompt: string, text: string, columns: number): ReadonlyArray<Row> =>
  text
    .split("\n")
    .flatMap((line, at) =>
      wrapIndented(
        [{ text: escapeLine(line) }],
        columns,
        [{ text: at === 0 ? prompt : " ".repeat(prompt.length), style: "green" }],
        [{ text: " ".repeat(prompt.length) }],
        "anywhere"
      )
    )

const filesRow = (files: ReadonlyArray<NamedFile>, columns: number): ReadonlyArray<Row> => {
  const count = files.length === 1 ? "1 file" : `${files.length} files`
  const row: Row = [{ text: fitColumns(`${count}: ${fileNames(files)}`, columns), style: "green" }]
  return files.length === 0 ? [] : [row]
}

export const screenRows = (
  { before, files, hint, isHidden, live, prompt, question, status, text }: ScreenContent,
  columns: number,
  paint: Paint
): LiveRows => {
  const shownText = (each: string): string => (isHidden ? "•".repeat(each.length) : each)
  const input = inputRows(prompt, shownText(text), columns)
  const untilCursor = inputRows(prompt, shownText(before), columns)
  const cursorRow = untilCursor.length - 1
  const first = Math.max(0, Math.min(cursorRow - MAX_INPUT_ROWS + 1, input.length - MAX_INPUT_ROWS))
  const shown = input.slice(first, first + MAX_INPUT_ROWS)
  const above: ReadonlyArray<Row> = [
    ...live,
    ...(question === undefined ? [] : wrapSpans([{ text: question, style: "yellow" }], columns)),
    hint === undefined
      ? [{ text: fitColumns(status, columns), style: "dim" }]
      : [{ text: fitColumns(hint, columns), style: "yellow" }],
    ...filesRow(files, columns)
  ]
  return {
    rows: [...above, ...shown].map((row) => paintRow(row, paint)),
    cursor: {
      row: above.length + cursorRow - first,
      before: paintRow(untilCursor.at(-1) ?? [], paint)
    }
  }
}
