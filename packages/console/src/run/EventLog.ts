/**
 * One run's log as it is followed here, outside of React: read, folded, and told once a frame to whoever shows it.
 *
 * Follows `/client/runs/:id/events` as an event stream by `fetch`: a refusal is an error object that can be read, the cookie goes along as
 * with any call, and reading less makes the Hub send less. A WebSocket has none of the three. It reconnects from the last seq; where the Hub
 * does not keep what is missing, the run's own state closes the gap, and the gap stays visible.
 */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { addressOf, hubApi, HubRefusal } from "../api/Hub.ts"
import { hubRoutes } from "../api/routes.ts"
import { EventStreamText } from "./EventStreamText.ts"
import { RunFold } from "./RunFold.ts"

export type Connection = "connecting" | "live" | "waiting" | "ended" | "refused"

export interface LogView {
  /** One more with each change. */
  readonly version: number
  readonly fold: RunFold
  readonly connection: Connection
  /** Why it is not followed any more. */
  readonly refusal: HubRefusal | undefined
}

/** What changes rarely of a log: whoever shows only this is not drawn anew with each word. */
export interface LogSummary {
  readonly state: RunFold["state"]
  /** Approvals that wait. */
  readonly waiting: number
  readonly unknown: number
  readonly connection: Connection
  readonly refusal: HubRefusal | undefined
}

const FIRST_WAIT_MS = 400
const LONGEST_WAIT_MS = 15_000
/** What one frame may spend on folding. */
const FRAME_MS = 6
/** Words that come faster are shown together: nobody reads faster. */
const TOLD_EVERY_MS = 40
/** A long list takes longer to lay out: with so many blocks a millisecond passes from one telling to the next. */
const BLOCKS_A_MS = 250
/** Events that were read and not folded yet; more are left to the Hub. */
const WAITING = 4_000

export class EventLog {
  private readonly runId: HubRun["id"]
  private readonly fold = new RunFold()
  private view: LogView = { version: 0, fold: this.fold, connection: "connecting", refusal: undefined }
  private summed: LogSummary = {
    state: undefined,
    waiting: 0,
    unknown: 0,
    connection: "connecting",
    refusal: undefined
  }
  private readonly listeners = new Set<() => void>()
  private readonly waiting: Array<Envelope> = []
  private room: (() => void) | undefined
  private planned: (() => void) | undefined
  private reading: AbortController | undefined
  private retry: { readonly now: () => void } | undefined
  private waitMs = FIRST_WAIT_MS
  private toldAt = 0

  constructor(runId: HubRun["id"]) {
    this.runId = runId
  }

  /** Follows as long as anybody listens. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    if (this.reading === undefined) void this.follow((this.reading = new AbortController()).signal)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.reading?.abort()
      this.reading = undefined
    }
  }

  readonly snapshot = (): LogView => this.view

  readonly summary = (): LogSummary => this.summed

  /** Tries again at once, where it waits to. */
  readonly retryNow = (): void => this.retry?.now()

  private tell(connection = this.view.connection, refusal = this.view.refusal): void {
    this.toldAt = performance.now()
    this.view = { version: this.view.version + 1, fold: this.fold, connection, refusal }
    const { pending, state, unknown } = this.fold
    const now = { state, waiting: pending.size, unknown, connection, refusal }
    if (!isSame(now, this.summed)) this.summed = now
    for (const listener of this.listeners) listener()
  }

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.read(signal)
        await this.folded()
        if (await this.isOver()) return this.tell("ended")
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof HubRefusal && error.code === "conflict") await this.passGap(error)
        else if (error instanceof HubRefusal && isFinal(error)) return this.tell("refused", error)
      }
      if (signal.aborted) return
      this.tell("waiting")
      await this.pause(signal)
    }
  }

  private async read(signal: AbortSignal): Promise<void> {
    const [, path] = hubRoutes.runs.events
    const after = this.fold.lastSeq
    const address = addressOf(path, { params: { id: this.runId }, query: { after } })
    const response = await fetch(address, { signal, headers: { accept: "text/event-stream" } })
    if (!response.ok || response.body === null) throw await refusalOf(response)
    this.tell("live")
    this.waitMs = FIRST_WAIT_MS
    const text = new EventStreamText()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        this.waiting.push(...text.push(value))
        if (this.waiting.length === 0) continue
        this.plan()
        if (this.waiting.length > WAITING) await new Promise<void>((resolve) => (this.room = resolve))
      }
    } finally {
      reader.cancel().catch(() => undefined)
    }
  }

  /** Folds with the next frame; a page that nobody looks at has no frames. */
  private plan(): void {
    if (this.planned !== undefined) return
    const run = () => {
      this.planned = undefined
      this.foldSome()
    }
    this.planned = run
    const between = Math.max(TOLD_EVERY_MS, this.fold.blocks.length / BLOCKS_A_MS)
    const rest = this.toldAt + between - performance.now()
    if (document.hidden) setTimeout(run, 200)
    else if (rest > FRAME_MS) setTimeout(run, Math.min(rest, 150))
    else requestAnimationFrame(run)
  }

  private foldSome(): void {
    const until = performance.now() + FRAME_MS
    let at = 0
    while (at < this.waiting.length && (at === 0 || performance.now() < until)) {
      this.fold.take(this.waiting.slice(at, at + 64))
      at += 64
    }
    this.waiting.splice(0, at)
    if (this.waiting.length > 0) this.plan()
    if (this.waiting.length <= WAITING / 2) this.room?.()
    this.tell()
  }

  /** Until all that was read is folded. */
  private async folded(): Promise<void> {
    while (this.waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, 16))
  }

  /** Whether nothing more will come. A stream that ends says it with its last event, or had nothing to say. */
  private async isOver(): Promise<boolean> {
    if (over(this.fold.state)) return true
    const run = await hubApi.runs.get({ params: { id: this.runId } })
    return over(run.state) && this.fold.lastSeq >= run.lastSeq
  }

  private async passGap({ details }: HubRefusal): Promise<void> {
    if (details["reason"] !== "replay_gap") return
    const run = await hubApi.runs.get({ params: { id: this.runId } }).catch(() => undefined)
    if (run === undefined) return
    this.fold.missing(run.lastSeq, run.updatedAt)
    this.fold.state = run.state
    this.tell()
  }

  private pause(signal: AbortSignal): Promise<void> {
    const ms = this.waitMs * (0.75 + Math.random() / 2)
    this.waitMs = Math.min(this.waitMs * 2, LONGEST_WAIT_MS)
    return new Promise((resolve) => {
      const now = () => {
        clearTimeout(timer)
        removeEventListener("online", now)
        signal.removeEventListener("abort", now)
        this.retry = undefined
        resolve()
      }
      const timer = setTimeout(now, ms)
      addEventListener("online", now)
      signal.addEventListener("abort", now)
      this.retry = { now }
    })
  }
}

const isSame = (a: LogSummary, b: LogSummary): boolean =>
  a.state === b.state &&
  a.waiting === b.waiting &&
  a.unknown === b.unknown &&
  a.connection === b.connection &&
  a.refusal === b.refusal

const over = (state: string | undefined): boolean =>
  state === "completed" || state === "failed" || state === "cancelled"

/** Whether asking again would be refused again. */
const isFinal = ({ code }: HubRefusal): boolean =>
  code === "unauthorized" || code === "permission_denied" || code === "not_found"

const refusalOf = async (response: Response): Promise<HubRefusal> => {
  const said: unknown = await response.json().catch(() => undefined)
  const { code, details, message, requestId } = Object(said)
  return typeof code === "string" && typeof message === "string"
    ? // What this build does not know is shown by its message all the same.
      new HubRefusal(code as HubRefusal["code"], message, requestId, details ?? {})
    : new HubRefusal("unreachable", `The Hub answered ${response.status} without a reason.`)
}
