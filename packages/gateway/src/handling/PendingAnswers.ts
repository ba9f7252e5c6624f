/**
 * Which clicks are still being answered. A platform puts back the card as it was before a click when the answer comes, so what changes a card
 * waits until the answer has gone.
 *
 * It knows the answers of this process. Another Gateway's answer has gone once the longest that an answer takes is over.
 */
import { Clock, Context, Deferred, Effect, Layer } from "effect"

/** From the last byte of the answer until the client has it, more or less. */
const SETTLE = "200 millis"
/** What an answer takes at most, and what the client needs to show it. */
const LONGEST_MS = 3_000

export class PendingAnswers extends Context.Service<
  PendingAnswers,
  {
    /** Calls back when the answer has gone. */
    readonly begin: (key: string) => () => void
    /** Waits until the answer to that event has gone. `receivedAt` in Unix milliseconds. */
    readonly awaitSent: (key: string, receivedAt: number) => Effect.Effect<void>
  }
>()("corral/gateway/Answering") {
  static readonly layer = Layer.effect(
    PendingAnswers,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const underWay = new Map<string, Deferred.Deferred<void>>()
      const forget = (key: string) => Effect.sync(() => underWay.delete(key))
      const services = yield* Effect.context<never>()
      const fork = Effect.runForkWith(services)
      return PendingAnswers.of({
        begin: (key) => {
          const gone = Deferred.makeUnsafe<void>()
          underWay.set(key, gone)
          return () => {
            Deferred.doneUnsafe(gone, Effect.void)
            fork(Effect.forkIn(Effect.andThen(Effect.sleep(`${LONGEST_MS} millis`), forget(key)), scope))
          }
        },
        awaitSent: (key, receivedAt) =>
          Effect.suspend(() => {
            const known = underWay.get(key)
            const left = receivedAt + LONGEST_MS - clock.currentTimeMillisUnsafe()
            if (known === undefined) return left > 0 ? Effect.sleep(`${left} millis`) : Effect.void
            return Effect.andThen(Deferred.await(known), Effect.sleep(SETTLE))
          })
      })
    })
  )
}
