/**
 * Live view of one run: folds the run's events into a `RunView` outside React and notifies listeners at most once per frame. Hooks read the
 * rarely changing summary, or the whole view.
 *
 * Reads ahead of folding up to a bound; then a slow page slows the Hub down. Where the Hub no longer keeps the missing events, the run's state
 * closes the gap, and the gap stays visible.
 */
import { hubEventSource } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import { decodeEventFields } from "@corral/client/run/EventFields"
import { type ConnectionState, pause } from "@corral/client/stream/Reconnection"
import { runEventBatches } from "@corral/client/stream/RunEvents"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type MissingEvents, type SequencedEvent, envelopeOf } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"
import { useMemo, useSyncExternalStore } from "react"
import { hubTransport } from "../api/Hub.ts"

export type Connection = "connecting" | "live" | "waiting" | "ended" | "refused"

/** A new object for each change. */
interface FollowedRun {
  readonly version: number
  readonly view: RunView
  readonly connection: Connection
  /** Why the run is no longer followed. */
  readonly refusal: CorralError | undefined
}

/** The part that changes rarely. Components that show only this part do not render for each word. */
interface FollowedRunSummary {
  readonly state: RunView["state"]
  /** Number of pending approvals and questions. */
  readonly pending: number
  /** Whether the turn has ended and the run continues. */
  readonly isIdle: boolean
  readonly unknown: number
  readonly connection: Connection
  readonly refusal: CorralError | undefined
}

/** Time for folding in one frame. */
const FRAME_MS = 6
/** Shortest time between two notifications. Faster text is not readable. */
const NOTIFY_EVERY_MS = 50
/** A long list takes longer to lay out: that time grows by 1 ms for this number of blocks. */
const BLOCKS_PER_MS = 250
/** Events that are read ahead of folding. */
const MAX_UNFOLDED = 4_000

export class RunFollower {
  private readonly runId: HubRun["id"]
  private readonly run = new RunView()
  private current: FollowedRun = { version: 0, view: this.run, connection: "connecting", refusal: undefined }
  private currentSummary: FollowedRunSummary = {
    state: undefined,
    pending: 0,
    isIdle: false,
    unknown: 0,
    connection: "connecting",
    refusal: undefined
  }
  private readonly listeners = new Set<() => void>()
  private readonly unfolded: Array<SequencedEvent> = []
  private continueReading: (() => void) | undefined
  private scheduled: (() => void) | undefined
  private reading: AbortController | undefined
  private retry: AbortController | undefined
  /** The last `seq` that was read. */
  private lastRead = 0
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
  readonly retryNow = (): void => this.retry?.abort()

  private notify(connection = this.current.connection, refusal = this.current.refusal): void {
    this.notifiedAt = performance.now()
    this.current = { version: this.current.version + 1, view: this.run, connection, refusal }
    const { isIdle, pendingInputs, state, unknown } = this.run
    const pending = this.run.pending.size + pendingInputs.size
    const summary = { state, pending, isIdle, unknown, connection, refusal }
    if (!isSame(summary, this.currentSummary)) this.currentSummary = summary
    for (const listener of this.listeners) listener()
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const batches = runEventBatches(hubEventSource(hubTransport, this.runId), decodeEventFields, {
      after: this.lastRead,
      signal,
      onConnection: (state) => this.notify(connectionOf[state]),
      onGap: (missing, run) => this.skipGap(missing, run),
      wait: (ms) => this.pause(ms, signal)
    })
    try {
      for await (const events of batches) {
        this.unfolded.push(...events)
        const last = events.at(-1)
        if (last !== undefined) this.lastRead = envelopeOf(last.decoded).seq
        this.schedule()
        if (this.unfolded.length > MAX_UNFOLDED)
          await new Promise<void>((resolve) => (this.continueReading = resolve))
      }
      await this.untilFolded()
      this.notify("ended")
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof CorralError)) throw error
      this.notify("refused", error)
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

  /** Takes the run's state from the Hub where events are no longer available. */
  private async skipGap(missing: MissingEvents, { state }: HubRun): Promise<void> {
    await this.untilFolded()
    this.lastRead = missing.to
    this.run.markMissing(missing)
    this.run.state = state
    this.notify()
  }

  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    this.retry = new AbortController()
    await pause(ms, AbortSignal.any([signal, this.retry.signal]))
    this.retry = undefined
  }
}

const connectionOf: Readonly<Record<ConnectionState, Connection>> = { live: "live", lost: "waiting" }

const isSame = (a: FollowedRunSummary, b: FollowedRunSummary): boolean =>
  a.state === b.state &&
  a.pending === b.pending &&
  a.isIdle === b.isIdle &&
  a.unknown === b.unknown &&
  a.connection === b.connection &&
  a.refusal === b.refusal

export const useFollowedRun = (runId: HubRun["id"]): readonly [FollowedRunSummary, RunFollower] => {
  const follower = useMemo(() => new RunFollower(runId), [runId])
  return [useSyncExternalStore(follower.subscribe, follower.summary), follower]
}

/** React hooks for a followed run: the rarely changing summary, or the whole view. */
export const useRunView = (follower: RunFollower): FollowedRun =>
  useSyncExternalStore(follower.subscribe, follower.snapshot)
