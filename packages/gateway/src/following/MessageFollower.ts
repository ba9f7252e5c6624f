/**
 * Follows messages, each in its own fiber, while this Gateway holds the lease. Another Gateway's messages are taken over when their leases
 * expire.
 */
import { Coalesced } from "@corral/service/Coalesced"
import { Cause, Context, Effect, Fiber, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { followMessage } from "./FollowMessage.ts"
import type { Follow, FollowId } from "./FollowRow.ts"
import { Follows } from "./Follows.ts"

/** Renewed several times in a lease. */
const RENEWAL_PERIOD = "2 seconds"
/** Maximum number of followed messages. Further ones wait until one has ended. */
const MAX_FOLLOWED = 1_000

export class MessageFollower extends Context.Service<
  MessageFollower,
  {
    /** Looks for new follows now. */
    readonly wake: Effect.Effect<void>
  }
>()("corral/gateway/MessageFollower") {
  static readonly layer = Layer.effect(
    MessageFollower,
    Effect.gen(function* () {
      const follows = yield* Follows
      const owner = randomUUID()
      const rounds = yield* Coalesced.make
      const fibers = new Map<FollowId, Fiber.Fiber<void>>()

      const begin = Effect.fnUntraced(function* (follow: Follow) {
        const following = Effect.scoped(followMessage(follow)).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.void
              : Effect.logError("failed to follow a message", { message: follow.id }, cause)
          ),
          Effect.ensuring(Effect.sync(() => fibers.delete(follow.id)))
        )
        fibers.set(follow.id, yield* Effect.forkScoped(following))
      })

      const round = Effect.gen(function* () {
        const leased = yield* follows.lease(owner, MAX_FOLLOWED)
        const leasedIds = new Set(leased.map(({ id }) => id))
        // Another Gateway holds them, or they have ended.
        const lost = [...fibers].filter(([id]) => !leasedIds.has(id))
        yield* Effect.forEach(lost, ([, fiber]) => Fiber.interrupt(fiber), { discard: true })
        yield* Effect.forEach(
          leased.filter(({ id }) => !fibers.has(id)),
          begin,
          { discard: true }
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to read follows", cause)))

      yield* Effect.addFinalizer(() => Effect.ignoreCause(follows.release(owner)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(round, Effect.timeoutOption(rounds.woken, RENEWAL_PERIOD)))
      )
      return MessageFollower.of({ wake: Effect.sync(rounds.wake) })
    })
  )
}
