/**
 * One reader of news: what it has not taken yet, the last of each thing alone. A slow reader costs what there is to tell of, and no more
 * than `MOST` of that; one that takes nothing for `STALLED_AFTER_SECONDS` is ended.
 */
import { PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/EventStream"
import type { HubNews } from "@corral/domain/hub-api/HubNews"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Effect, Queue } from "effect"

export class NewsReader {
  readonly userId: UserId
  private readonly now: () => number
  private readonly onEnd: () => void
  private readonly more: Queue.Queue<void>
  private readonly waiting = new Map<string, HubNews>()
  /** Unix milliseconds since when it has what it was given last, and asks for nothing more. */
  private handedAt: number | undefined
  private ended = false

  /** `onEnd` is called once, where the reader may not go on. */
  static readonly make = (userId: UserId, now: () => number, onEnd: () => void): Effect.Effect<NewsReader> =>
    Effect.map(Queue.sliding<void>(1), (more) => new NewsReader(userId, now, onEnd, more))

  private constructor(userId: UserId, now: () => number, onEnd: () => void, more: Queue.Queue<void>) {
    this.userId = userId
    this.now = now
    this.onEnd = onEnd
    this.more = more
  }

  told(news: HubNews): void {
    this.waiting.set(news.id, news)
    if (this.waiting.size > MOST) this.end()
    Queue.offerUnsafe(this.more, undefined)
  }

  /** Takes back what waits of the project, and of devices: whether the reader may still see it is to be found again. */
  withdraw(projectId: ProjectId): ReadonlyArray<HubNews> {
    const withdrawn = [...this.waiting.values()].filter(
      (news) => news.kind === "device" || news.projectId === projectId
    )
    for (const { id } of withdrawn) this.waiting.delete(id)
    return withdrawn
  }

  /** What it is given next, as a part of a `text/event-stream`; waits until there is something, and not for long. */
  readonly next: Effect.Effect<string> = Effect.suspend(() => {
    this.handedAt = undefined
    if (this.waiting.size > 0) return Effect.succeed(this.taken())
    return Queue.take(this.more).pipe(
      Effect.timeoutOption(`${PING_EVERY_SECONDS} seconds`),
      Effect.map(() => this.taken())
    )
  })

  /** Called every few seconds. */
  tick(): void {
    if (this.handedAt !== undefined && this.now() - this.handedAt > STALLED_AFTER_SECONDS * 1_000) this.end()
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.waiting.clear()
    this.onEnd()
  }

  private taken(): string {
    this.handedAt = this.now()
    const news = [...this.waiting.values()].slice(0, AT_ONCE)
    for (const { id } of news) this.waiting.delete(id)
    return news.length === 0 ? COMMENT : news.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")
  }
}

/** Things of which a reader was not told yet. One for whom more wait is ended: it learns the present state when it comes again. */
const MOST = 10_000
const AT_ONCE = 500

/** Says nothing: what stands between keeps the connection. */
export const COMMENT = ": \n\n"
