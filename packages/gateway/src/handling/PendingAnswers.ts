/**
 * Clicks whose HTTP answer is not sent yet. When the answer arrives, a platform restores the card as it was before the click, so a change of
 * the card waits until the answer is sent.
 *
 * Only this process's answers are known. Another Gateway's answer counts as sent after `MAX_ANSWER_MS`.
 */
import { Clock, Context, Deferred, Effect, Layer } from "effect"

/** Time from the last byte of the answer until the client shows it. */
const DELIVERY_TIME = "200 millis"
/** Maximum time of an answer, with the time that the client needs to show it. */
const MAX_ANSWER_MS = 3_000

export class PendingAnswers extends Context.Service<
  PendingAnswers,
  {
    /** Registers an answer. The caller runs the returned function when the answer is sent. */
    readonly begin: (key: string) => () => void
    /** Waits until the answer to an event is sent. `receivedAt` in Unix milliseconds. */
    readonly awaitSent: (key: string, receivedAt: number) => Effect.Effect<void>
  }
>()("corral/gateway/PendingAnswers") {
  static readonly layer = Layer.effect(
    PendingAnswers,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const answers = new Map<string, Deferred.Deferred<void>>()
      const remove = (key: string) => Effect.sync(() => answers.delete(key))
      const services = yield* Effect.context<never>()
      const fork = Effect.runForkWith(services)
      return PendingAnswers.of({
        begin: (key) => {
          const sent = Deferred.makeUnsafe<void>()
          answers.set(key, sent)
          return () => {
            Deferred.doneUnsafe(sent, Effect.void)
            fork(Effect.forkIn(Effect.andThen(Effect.sleep(`${MAX_ANSWER_MS} millis`), remove(key)), scope))
          }
        },
        awaitSent: (key, receivedAt) =>
          Effect.suspend(() => {
            const answer = answers.get(key)
            const left = receivedAt + MAX_ANSWER_MS - clock.currentTimeMillisUnsafe()
            if (answer === undefined) return left > 0 ? Effect.sleep(`${left} millis`) : Effect.void
            return Effect.andThen(Deferred.await(answer), Effect.sleep(DELIVERY_TIME))
          })
      })
    })
  )
}
