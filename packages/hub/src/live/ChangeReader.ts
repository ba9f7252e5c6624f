/**
 * One reader of the change feed, with the changes that it has not taken yet: the last one of each resource.
 *
 * A slow reader costs at most `MAX_WAITING` changes. A reader that takes nothing for the stall time is ended.
 */
import { Coalesced } from "@corral/service/Coalesced"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { SSE_COMMENT } from "@corral/service/stream/ServerSentEvents"
import { StreamTimes, type StreamTimesOptions } from "@corral/service/stream/StreamTimes"
import { Effect } from "effect"

export class ChangeReader {
  readonly userId: UserId
  private readonly now: () => number
  private readonly onEnd: () => void
  private readonly times: StreamTimesOptions
  private readonly more: Coalesced
  private readonly waiting = new Map<string, ChangeHint>()
  /** Unix milliseconds since when the reader has not asked for more; `undefined` while it waits for changes. */
  private busySince: number | undefined
  private hasEnded = false

  /** `onEnd` is called once, when the reader must not continue. */
  static readonly make = (
    userId: UserId,
    now: () => number,
    onEnd: () => void
  ): Effect.Effect<ChangeReader> =>
    Effect.gen(function* () {
      return new ChangeReader(userId, now, onEnd, yield* StreamTimes, yield* Coalesced.make)
    })

  private constructor(
    userId: UserId,
    now: () => number,
    onEnd: () => void,
    times: StreamTimesOptions,
    more: Coalesced
  ) {
    this.userId = userId
    this.now = now
    this.onEnd = onEnd
    this.times = times
    this.more = more
  }

  add(change: ChangeHint): void {
    this.waiting.set(change.id, change)
    if (this.waiting.size > MAX_WAITING) this.end()
    this.more.wake()
  }

  /** Removes the waiting changes of a project, and of devices: the caller checks again whether the reader may see them. */
  withdraw(projectId: ProjectId): ReadonlyArray<ChangeHint> {
    const withdrawn = [...this.waiting.values()].filter(
      (change) => change.kind === "device" || change.projectId === projectId
    )
    for (const { id } of withdrawn) this.waiting.delete(id)
    return withdrawn
  }

  /** Next part of the `text/event-stream`. Waits for a change, at most until the next comment is due. */
  readonly next: Effect.Effect<string> = Effect.suspend(() => {
    this.busySince = undefined
    if (this.waiting.size > 0) return Effect.succeed(this.takeText())
    return this.more.woken.pipe(
      Effect.timeoutOption(this.times.pingEveryMs),
      Effect.map(() => this.takeText())
    )
  })

  /** Ends a stalled reader. Called every few seconds. */
  tick(): void {
    if (this.busySince !== undefined && this.now() - this.busySince > this.times.stalledAfterMs) this.end()
  }

  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.waiting.clear()
    this.onEnd()
  }

  private takeText(): string {
    this.busySince = this.now()
    const changes = [...this.waiting.values()].slice(0, MAX_PART)
    for (const { id } of changes) this.waiting.delete(id)
    if (changes.length === 0) return SSE_COMMENT
    return changes.map((change) => `data: ${JSON.stringify(change)}\n\n`).join("")
  }
}

/** A reader with more waiting changes is ended: it receives the present state when it reconnects. */
const MAX_WAITING = 10_000
/** Changes of one part of the stream. */
const MAX_PART = 500
