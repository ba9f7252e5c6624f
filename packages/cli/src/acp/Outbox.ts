/**
 * Updates of one session on their way to the editor.
 *
 * Guarantees: they are written in order, each once. A slow editor slows the streams that fill the outbox: `ready` waits while it is full.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import { Deferred, Effect, Queue } from "effect"

const MAX_WAITING = 256

type Item = SessionUpdate | (() => void)

export class Outbox {
  private readonly items = Effect.runSync(Queue.unbounded<Item>())
  private waiting = 0
  private drained: Deferred.Deferred<void> | undefined

  push(updates: ReadonlyArray<SessionUpdate>): void {
    for (const update of updates) this.add(update)
  }

  /** Lets the writer notice a change without an update. */
  touch(): void {
    if (this.waiting === 0) this.add(() => undefined)
  }

  /** Completes once everything that was pushed so far is written. */
  get flushed(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const written = Deferred.makeUnsafe<void>()
      this.add(() => Deferred.doneUnsafe(written, Effect.void))
      return Deferred.await(written)
    })
  }

  readonly ready: Effect.Effect<void> = Effect.suspend(() => {
    if (this.waiting < MAX_WAITING) return Effect.void
    this.drained ??= Deferred.makeUnsafe<void>()
    return Deferred.await(this.drained)
  })

  /** Writes until it is interrupted. `onIdle`: nothing waits. */
  writing(write: (update: SessionUpdate) => Effect.Effect<void>, onIdle: () => void): Effect.Effect<never> {
    return Effect.forever(
      Effect.gen({ self: this }, function* () {
        const item = yield* Queue.take(this.items)
        if (typeof item === "function") item()
        else yield* write(item)
        if (--this.waiting > 0) return
        onIdle()
        if (this.drained !== undefined) Deferred.doneUnsafe(this.drained, Effect.void)
        this.drained = undefined
      })
    )
  }

  private add(item: Item): void {
    this.waiting++
    Queue.offerUnsafe(this.items, item)
  }
}
