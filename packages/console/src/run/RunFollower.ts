/**
 * Live view of one run outside React: reads the event stream, folds it into a `RunView` and notifies listeners at most once per frame.
 *
 * Reads `/client/runs/:id/events` with `fetch`: a refusal is a readable error object, the session cookie is sent, and a slow reader slows the
 * Hub down. A WebSocket offers none of these. Reconnects after the last event. Where the Hub no longer keeps the missing events, the run's
 * state closes the gap, and the gap stays visible.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"
import { addressOf, hubApi, HubRefusal } from "../api/Hub.ts"
import { hubRoutes } from "../api/routes.ts"
import { eventSequence } from "./EventFields.ts"

export type Connection = "connecting" | "live" | "waiting" | "ended" | "refused"

/** A new object for each change. */
export interface FollowedRun {
  readonly version: number
  readonly view: RunView
  readonly connection: Connection
  /** Why the run is no longer followed. */
  readonly refusal: HubRefusal | undefined
}

/** The part that changes rarely. Components that show only this part do not render for each word. */
export interface FollowedRunSummary {
  readonly state: RunView["state"]
  /** Number of pending approvals. */
  readonly pending: number
  readonly unknown: number
  readonly connection: Connection
  readonly refusal: HubRefusal | undefined
}

const FIRST_WAIT_MS = 400
const LONGEST_WAIT_MS = 15_000
/** Time for folding in one frame. */
const FRAME_MS = 6
/** Shortest time between two notifications. Faster text is not readable. */
const NOTIFY_EVERY_MS = 40
/** A long list takes longer to lay out: that time grows by 1 ms for this number of blocks. */
const BLOCKS_PER_MS = 250
/** Events that are read ahead of folding. */
const MAX_UNFOLDED = 4_000

export class RunFollower {
  private readonly runId: HubRun["id"]
  private readonly run = new RunView()
  private readonly sequence = eventSequence()
  private current: FollowedRun = { version: 0, view: this.run, connection: "connecting", refusal: undefined }
  private currentSummary: FollowedRunSummary = {
    state: undefined,
    pending: 0,
    unknown: 0,
    connection: "connecting",
    refusal: undefined
  }
  private readonly listeners = new Set<() => void>()
  private readonly unfolded: Array<SequencedEvent> = []
  private continueReading: (() => void) | undefined
  private scheduled: (() => void) | undefined
  private reading: AbortController | undefined
  private retry: { readonly now: () => void } | undefined
  private waitMs = FIRST_WAIT_MS
  private notifiedAt = 0

  constructor(runId: HubRun["id"]) {
    this.runId = runId
  }

  /** Follows the run while there are listeners. */
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

  readonly snapshot = (): FollowedRun => this.current

  readonly summary = (): FollowedRunSummary => this.currentSummary

  /** Ends the pause before the next connection. */
  readonly retryNow = (): void => this.retry?.now()

  private notify(connection = this.current.connection, refusal = this.current.refusal): void {
    this.notifiedAt = performance.now()
    this.current = { version: this.current.version + 1, view: this.run, connection, refusal }
    const { pending, state, unknown } = this.run
    const summary = { state, pending: pending.size, unknown, connection, refusal }
    if (!isSame(summary, this.currentSummary)) this.currentSummary = summary
    for (const listener of this.listeners) listener()
  }

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.read(signal)
        await this.untilFolded()
        if (await this.isEnded()) return this.notify("ended")
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof HubRefusal && error.code === "conflict") await this.skipGap(error)
        else if (error instanceof HubRefusal && isFinal(error)) return this.notify("refused", error)
      }
      if (signal.aborted) return
      this.notify("waiting")
      await this.pause(signal)
    }
  }

  private async read(signal: AbortSignal): Promise<void> {
    const [, path] = hubRoutes.runs.events
    const after = this.sequence.lastSeq
    const address = addressOf(path, { params: { id: this.runId }, query: { after } })
    const response = await fetch(address, { signal, headers: { accept: "text/event-stream" } })
    if (!response.ok || response.body === null) throw await streamRefusal(response)
    this.notify("live")
    this.waitMs = FIRST_WAIT_MS
    const parser = new ServerSentEventParser()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        for (const { data } of parser.push(value)) {
          const next = this.sequence.next(data)
          if (next !== undefined) this.unfolded.push(next)
        }
        if (this.unfolded.length === 0) continue
        this.schedule()
        if (this.unfolded.length > MAX_UNFOLDED)
          await new Promise<void>((resolve) => (this.continueReading = resolve))
      }
    } finally {
      reader.cancel().catch(() => undefined)
    }
  }

  /** Folds in the next frame. A hidden page has no frames and uses a timer. */
  private schedule(): void {
    if (this.scheduled !== undefined) return
    const run = () => {
      this.scheduled = undefined
      this.foldSome()
    }
    this.scheduled = run
    const between = Math.max(NOTIFY_EVERY_MS, this.run.blocks.length / BLOCKS_PER_MS)
    const rest = this.notifiedAt + between - performance.now()
    if (document.hidden) setTimeout(run, 200)
    else if (rest > FRAME_MS) setTimeout(run, Math.min(rest, 150))
    else requestAnimationFrame(run)
  }

  private foldSome(): void {
    const until = performance.now() + FRAME_MS
    let at = 0
    while (at < this.unfolded.length && (at === 0 || performance.now() < until)) {
      for (const next of this.unfolded.slice(at, at + 64)) this.run.apply(next)
      at += 64
    }
    this.unfolded.splice(0, at)
    if (this.unfolded.length > 0) this.schedule()
    if (this.unfolded.length <= MAX_UNFOLDED / 2) this.continueReading?.()
    this.notify()
  }

  private async untilFolded(): Promise<void> {
    while (this.unfolded.length > 0) await new Promise((resolve) => setTimeout(resolve, 16))
  }

  /** Whether the run has ended and all of its events have been read. */
  private async isEnded(): Promise<boolean> {
    if (isTerminalState(this.run.state)) return true
    const run = await hubApi.runs.get({ params: { id: this.runId } })
    return isTerminalState(run.state) && this.run.lastSeq >= run.lastSeq
  }

  /** Takes the run's state from the Hub where events are no longer available. */
  private async skipGap({ details }: HubRefusal): Promise<void> {
    if (details["reason"] !== "replay_gap") return
    const run = await hubApi.runs.get({ params: { id: this.runId } }).catch(() => undefined)
    if (run === undefined) return
    await this.untilFolded()
    const missing = this.sequence.skipTo(run.lastSeq, run.updatedAt)
    if (missing !== undefined) this.run.markMissing(missing)
    this.run.state = run.state
    this.notify()
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

const isSame = (a: FollowedRunSummary, b: FollowedRunSummary): boolean =>
  a.state === b.state &&
  a.pending === b.pending &&
  a.unknown === b.unknown &&
  a.connection === b.connection &&
  a.refusal === b.refusal

const isTerminalState = (state: string | undefined): boolean =>
  state === "completed" || state === "failed" || state === "cancelled"

/** Whether a retry would be refused again. */
const isFinal = ({ code }: HubRefusal): boolean =>
  code === "unauthorized" || code === "permission_denied" || code === "not_found"

const streamRefusal = async (response: Response): Promise<HubRefusal> => {
  const body: unknown = await response.json().catch(() => undefined)
  const { code, details, message, requestId } = Object(body)
  return typeof code === "string" && typeof message === "string"
    ? // An unknown code is shown by its message.
      new HubRefusal(code as HubRefusal["code"], message, requestId, details ?? {})
    : new HubRefusal("unreachable", `The Hub responded with status ${response.status}.`)
}
