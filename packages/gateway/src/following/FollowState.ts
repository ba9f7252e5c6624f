/** State of one followed message while this Gateway follows it. A change of the progress requests an update of the card. */
import { Effect, Queue, Schedule } from "effect"
import type { Follow } from "./FollowRow.ts"
import { Follows } from "./Follows.ts"
import type { TaskProgress } from "./TaskProgress.ts"

/** Up to 30 seconds between attempts, for failures of a platform, the Hub or the store. */
const retries = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")])

const isTransient = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "PlatformUnavailable" || _tag === "HubUnavailable" || _tag === "SqlError"

const retryAfterMsOf = (error: object): number =>
  "retryAfterMs" in error && typeof error.retryAfterMs === "number" ? error.retryAfterMs : 0

/** Retries failures that may be temporary, not before the time that a failure says. */
export const retryTransient = <A, E extends { readonly _tag: string }, R>(self: Effect.Effect<A, E, R>) => {
  const paced: Effect.Effect<A, E, R> = Effect.tapError(self, (error) => Effect.sleep(retryAfterMsOf(error)))
  return Effect.retry(paced, { schedule: retries, while: isTransient })
}

export class FollowState {
  current: Follow
  /** False after the platform has refused to update the card, because it is too old or was deleted. */
  isDrawable = true
  readonly changed: Queue.Queue<void>

  private constructor(begin: Follow, changed: Queue.Queue<void>) {
    this.current = begin
    this.changed = changed
  }

  static readonly make = (begin: Follow) =>
    Effect.map(Queue.sliding<void>(1), (changed) => new FollowState(begin, changed))

  update(more: Partial<Follow>): void {
    this.current = { ...this.current, ...more }
  }

  setProgress(progress: TaskProgress): void {
    if (progress === this.current.progress) return
    this.update({ progress })
    this.requestDrawing()
  }

  requestDrawing(): void {
    Queue.offerUnsafe(this.changed, undefined)
  }
}

export const saveFollow = Effect.fnUntraced(function* ({ current }: FollowState) {
  yield* (yield* Follows).advance(current.id, current)
})
