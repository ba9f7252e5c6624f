/**
 * Rows of one run in a chat: settled rows, printed once, and the rows of what is in progress.
 *
 * Guarantees: each settled row comes out once. A message comes out line by line while it streams, the message of a sub-agent when it is
 * complete; a tool call when it ends; an approval or a question when it is requested, and again when it is resolved.
 */
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunMode } from "@corral/domain/run/Run"
import type {
  ApprovalBlock,
  InputBlock,
  MessageBlock,
  RunBlock,
  StartBlock
} from "@corral/domain/run/RunBlock"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import type { Step } from "@corral/domain/run/Work"
import { RunView } from "@corral/domain/run/RunView"
import { hasEnded } from "../run/RunServer.ts"
import { fitColumns, type Row, wrapIndented } from "../terminal/Rows.ts"
import { changedStepRows, isolationText } from "../run/EventLines.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import {
  blockRows,
  excerptRows,
  inputResolutionRows,
  labelOf,
  resolutionRows,
  type RowContext
} from "./BlockRows.ts"
import { MarkdownRows } from "./MarkdownRows.ts"

type Rows = ReadonlyArray<Row>

const SHOWN_REASONING = 4
/** Deepest indentation of sub-agents. */
const MAX_DEPTH = 4

/** What was printed of a message. */
interface MessageProgress {
  readonly markdown: MarkdownRows
  /** Characters of the message that were printed. */
  printed: number
}

export class TurnRows {
  readonly view = new RunView()
  private readonly columns: () => number
  private readonly nameOf: (user: string) => string
  /** Places of the blocks that are not settled, counted with dropped blocks, and the place after them. */
  private readonly open = new Set<number>()
  private nextPlace = 0
  /** Blocks that have settled in this look, by `seq`. */
  private readonly settled = new Set<number>()
  private readonly messages = new Map<number, MessageProgress>()
  /** Approvals and questions that were printed and are not resolved. */
  private readonly requested = new Set<number>()
  /** Depth of what calls of sub-agents do, by call. */
  private readonly depths = new Map<string, number>()
  /** The last list of steps, by the call of its sub-agent. */
  private readonly steps = new Map<string, ReadonlyArray<Step>>()
  private readonly changes: Array<Row> = []
  private readonly reasons: Set<string>

  /** `reasons`: why runs of the chat are not confined, as shown so far. Each is shown once. */
  constructor(columns: () => number, nameOf: (user: string) => string, reasons = new Set<string>()) {
    this.columns = columns
    this.nameOf = nameOf
    this.reasons = reasons
  }

  private get context(): RowContext {
    return { columns: this.columns(), nameOf: this.nameOf, isIsolated: this.isIsolated }
  }

  /** Mode of the run. */
  mode: RunMode = "ask"
  private isIsolated = false

  apply(sequenced: SequencedEvent): void {
    const { decoded } = sequenced
    if (decoded._tag === "KnownEvent") this.observe(decoded.event)
    this.view.apply(sequenced)
  }

  /** Rows of changes inside blocks that were printed. */
  private observe(event: RunEvent): void {
    if (event.type === "run.created") {
      this.mode = event.payload.mode
      this.isIsolated = isolationText(event.payload) !== undefined
    } else if (event.type === "run.tool.call" && event.payload.parentCallId !== undefined)
      this.depths.set(event.payload.callId, this.depthOf(event.payload.parentCallId))
    else if (event.type === "run.steps.updated") {
      const { parentCallId, steps } = event.payload
      const list = parentCallId ?? ""
      this.changes.push(
        ...this.nested(parentCallId, () => changedStepRows(this.steps.get(list) ?? [], steps))
      )
      this.steps.set(list, steps)
    } else if (event.type === "run.work.ended") {
      const title = this.view.outstanding.get(event.payload.workId) ?? "background work"
      const text = `  ${escapeLine(title)}: ${event.payload.state}`
      this.changes.push([{ text: fitColumns(text, this.columns()), style: "dim" }])
    }
  }

  /** Questions that need an answer, oldest first. */
  get pendingInputs(): ReadonlyArray<InputBlock> {
    return this.view.blocks.filter(
      (block): block is InputBlock => block.kind === "input" && this.view.pendingInputs.has(block.inputId)
    )
  }

  /** Number of sub-agents around what a call does. */
  private depthOf(parentCallId: string | undefined): number {
    return parentCallId === undefined ? 0 : Math.min((this.depths.get(parentCallId) ?? 0) + 1, MAX_DEPTH)
  }

  /** Rows of a sub-agent, indented below the call that started it. */
  private nested(parentCallId: string | undefined, rowsFor: (columns: number) => Rows): Rows {
    const indent = "  ".repeat(this.depthOf(parentCallId))
    const rows = rowsFor(this.columns() - indent.length)
    return indent === "" ? rows : rows.map((row) => [{ text: indent }, ...row])
  }

  /** Approvals that need a decision, oldest first. */
  get pending(): ReadonlyArray<ApprovalBlock> {
    return this.view.blocks.filter(
      (block): block is ApprovalBlock => block.kind === "approval" && this.view.pending.has(block.approvalId)
    )
  }

  /** Rows that have settled since the last call. */
  take(): Rows {
    const rows: Array<Row> = []
    for (const [place, block] of this.openBlocks()) {
      rows.push(...this.settle(block, place === this.nextPlace - 1))
      if (this.settled.delete(block.seq)) this.open.delete(place)
    }
    return [...rows, ...this.changes.splice(0)]
  }

  /** Rows of what is in progress: the last line of a message, tool calls, a retry. */
  live(): Rows {
    const columns = this.columns()
    return this.openBlocks().flatMap(([, block]): Rows => {
      if (block.kind === "message") return block.parentCallId === undefined ? this.preview(block) : []
      if (block.kind === "retry") return blockRows(block, this.context)
      if (block.kind !== "tool") return []
      const waits = block.isWaiting ? " · needs a decision" : ""
      return [
        [
          { text: "› ", style: "cyan" },
          { text: fitColumns(labelOf(block), columns - 2 - waits.length) },
          { text: waits, style: "yellow" }
        ]
      ]
    })
  }

  /** The blocks that are not settled, by their places. */
  private openBlocks(): ReadonlyArray<readonly [number, RunBlock]> {
    const { blocks, dropped } = this.view
    while (this.nextPlace < dropped + blocks.length) this.open.add(this.nextPlace++)
    return [...this.open].flatMap((place) => {
      const block = blocks[place - dropped]
      if (block === undefined) this.open.delete(place)
      return block === undefined ? [] : [[place, block] as const]
    })
  }

  /** Rows of one block as far as it has settled. */
  private settle(block: RunBlock, isLast: boolean): Rows {
    switch (block.kind) {
      case "message":
        return this.message(block)
      case "tool":
        if (block.status === "started") return []
        break
      case "retry":
        // A further retry replaces it.
        if (isLast) return []
        break
      case "approval":
      case "input":
        return this.decision(block)
      case "start":
        return this.start(block)
      default:
        break
    }
    this.settled.add(block.seq)
    const parent = "parentCallId" in block ? block.parentCallId : undefined
    return this.nested(parent, (columns) => blockRows(block, { ...this.context, columns }))
  }

  private start(block: StartBlock): Rows {
    this.settled.add(block.seq)
    const { confinementFailure: reason } = block
    const isShown = reason !== undefined && this.reasons.has(reason)
    if (reason !== undefined) this.reasons.add(reason)
    return blockRows(isShown ? { ...block, confinementFailure: undefined } : block, this.context)
  }

  /** An approval or a question: what is requested, and later how it was resolved. */
  private decision(block: ApprovalBlock | InputBlock): Rows {
    const isFirst = !this.requested.has(block.seq)
    this.requested.add(block.seq)
    const rows = isFirst ? blockRows(block, this.context) : []
    if (block.state === "pending") return rows
    this.requested.delete(block.seq)
    this.settled.add(block.seq)
    return [
      ...rows,
      ...(block.kind === "approval"
        ? resolutionRows(block, this.context)
        : inputResolutionRows(block, this.context))
    ]
  }

  private message(block: MessageBlock): Rows {
    if (!block.partial || (this.view.state !== undefined && hasEnded(this.view.state)))
      this.settled.add(block.seq)
    const isSettled = this.settled.has(block.seq)
    // The chat shows the message that started the run.
    if (block.messageId === "" || (block.role === "system" && block.body.text === "")) return []
    if (block.role !== "assistant") return isSettled ? this.inputRows(block) : []
    if (block.channel === "reasoning")
      return isSettled ? excerptRows(block.body.text, this.columns(), SHOWN_REASONING) : []
    return this.lines(block, isSettled)
  }

  /** A message that a user sent to the run in progress. */
  private inputRows({ body }: MessageBlock): Rows {
    return body.text
      .trimEnd()
      .split("\n")
      .flatMap((line, at) =>
        wrapIndented(
          [{ text: escapeControls(line) }],
          this.columns(),
          [{ text: at === 0 ? "» " : "  ", style: "green" }],
          [{ text: "  " }]
        )
      )
  }

  /** Complete lines that were not printed. */
  private lines({ body, seq }: MessageBlock, isSettled: boolean): Rows {
    const progress = this.progressOf(seq)
    const from = Math.max(0, progress.printed - body.skipped)
    const rest = body.text.slice(from)
    const end = isSettled ? rest.length : rest.lastIndexOf("\n") + 1
    progress.printed = body.skipped + from + end
    const whole = rest.slice(0, end)
    const lines = whole === "" ? [] : whole.replace(/\n$/, "").split("\n")
    const rows = lines.flatMap((line) => progress.markdown.line(escapeControls(line)))
    if (!isSettled) return rows
    this.messages.delete(seq)
    const isClipped = body.skipped + body.text.length < body.size
    return [
      ...rows,
      ...progress.markdown.end(),
      ...(isClipped ? [[{ text: "[…]", style: "dim" } as const]] : [])
    ]
  }

  private preview({ body, channel, seq }: MessageBlock): Rows {
    if (channel === "reasoning") return [[{ text: "thinking…", style: "dim" }]]
    const { markdown, printed } = this.progressOf(seq)
    const rest = body.text.slice(Math.max(0, printed - body.skipped))
    const line = rest.slice(rest.lastIndexOf("\n") + 1)
    return line === "" ? [] : markdown.preview(escapeControls(line))
  }

  private progressOf(seq: number): MessageProgress {
    const found = this.messages.get(seq)
    if (found !== undefined) return found
    const progress = { markdown: new MarkdownRows(this.columns), printed: 0 }
    this.messages.set(seq, progress)
    return progress
  }
}
