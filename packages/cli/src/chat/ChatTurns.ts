/** Runs of a chat that are in progress, and their rows. Plain and synchronous. */
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import type { ApprovalBlock, InputBlock } from "@corral/domain/run/RunBlock"
import { hasEnded } from "../run/RunServer.ts"
import { fitColumns, type Row } from "../terminal/Rows.ts"
import { TurnRows } from "./TurnRows.ts"

type Rows = ReadonlyArray<Row>

export interface PendingDecision {
  readonly runId: RunId
  readonly block: ApprovalBlock
}

export interface PendingQuestion {
  readonly runId: RunId
  readonly block: InputBlock
  readonly mode: RunMode
}

/** A run whose agent has ended its turn. */
export interface IdleChatRun {
  readonly runId: RunId
  readonly titles: ReadonlyArray<string>
}

interface Turn {
  readonly agent: string
  readonly rows: TurnRows
}

const MAX_LIVE_ROWS = 8

export class ChatTurns {
  private readonly columns: () => number
  private readonly nameOf: (user: string) => string
  private readonly turns = new Map<RunId, Turn>()
  private readonly followed = new Set<RunId>()
  /** Reasons why runs are not confined that were shown. */
  private readonly reasons = new Set<string>()
  private lastRun: RunId | undefined

  constructor(columns: () => number, nameOf: (user: string) => string) {
    this.columns = columns
    this.nameOf = nameOf
  }

  get active(): ReadonlyArray<RunId> {
    return [...this.turns.keys()]
  }

  /** The run that was shown last. */
  get latest(): RunId | undefined {
    return this.lastRun
  }

  /** The oldest approval without a decision, and the number of all. */
  get decision(): { readonly next: PendingDecision; readonly count: number } | undefined {
    const all = [...this.turns].flatMap(([runId, { rows }]) =>
      rows.pending.map((block) => ({ runId, block }))
    )
    const [next] = all
    return next === undefined ? undefined : { next, count: all.length }
  }

  /** The oldest question without an answer, and the number of all. */
  get question(): { readonly next: PendingQuestion; readonly count: number } | undefined {
    const all = [...this.turns].flatMap(([runId, { rows }]) =>
      rows.pendingInputs.map((block) => ({ runId, block, mode: rows.mode }))
    )
    const [next] = all
    return next === undefined ? undefined : { next, count: all.length }
  }

  /** Runs whose agent has ended its turn. */
  get idle(): ReadonlyArray<IdleChatRun> {
    return [...this.turns].flatMap(([runId, { rows }]) =>
      rows.view.isIdle ? [{ runId, titles: [...rows.view.outstanding.values()] }] : []
    )
  }

  /** Whether an agent works on something that is not an approval or a question. */
  get isWorking(): boolean {
    return [...this.turns.values()].some(
      ({ rows: { view } }) =>
        view.state === undefined ||
        (!hasEnded(view.state) && view.pending.size === 0 && view.pendingInputs.size === 0)
    )
  }

  /** Whether all work in progress is paused. */
  get isPaused(): boolean {
    return this.turns.size > 0 && [...this.turns.values()].every(({ rows }) => rows.view.isPaused)
  }

  begin(runId: RunId, agent: string): void {
    this.followed.add(runId)
    this.turns.set(runId, { agent, rows: new TurnRows(this.columns, this.nameOf, this.reasons) })
  }

  apply(runId: RunId, event: SequencedEvent): void {
    this.turns.get(runId)?.rows.apply(event)
  }

  /** The last rows of a turn, and its end. `undefined`: the run is not in progress. */
  end(runId: RunId): Rows | undefined {
    const turn = this.turns.get(runId)
    if (turn === undefined) return undefined
    const rows = this.labelled(runId, turn.rows.take())
    this.turns.delete(runId)
    this.lastRun = runId
    return rows
  }

  /** An earlier turn of a resumed conversation. */
  resume(runId: RunId): void {
    this.lastRun = runId
  }

  /** Whether the rows of a run show what belongs to it. */
  shows(runId: RunId | undefined): boolean {
    return runId !== undefined && this.followed.has(runId)
  }

  /** Rows that have settled since the last call. */
  take(): Rows {
    return [...this.turns].flatMap(([runId, { rows }]) => this.labelled(runId, rows.take()))
  }

  /** Rows of what is in progress. */
  live(): Rows {
    const rows = [...this.turns.values()].flatMap((turn) => turn.rows.live())
    return rows.length > MAX_LIVE_ROWS
      ? [[{ text: "…", style: "dim" } as const], ...rows.slice(1 - MAX_LIVE_ROWS)]
      : rows
  }

  /** Rows of a run, below the name of its agent where several are in progress. */
  private labelled(runId: RunId, rows: Rows): Rows {
    if (rows.length === 0) return rows
    const isOther = this.lastRun !== runId && this.turns.size > 1
    this.lastRun = runId
    if (!isOther) return rows
    const agent = `${this.turns.get(runId)?.agent ?? runId}:`
    return [[{ text: fitColumns(agent, this.columns()), style: "dim" }], ...rows]
  }
}
