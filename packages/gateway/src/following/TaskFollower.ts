/**
 * Follows tasks, each in its own fiber, while this Gateway holds the lease. Another Gateway's tasks are taken over when their leases
 * expire.
 */
import { Cause, Context, Effect, Fiber, Layer, Queue } from "effect"
import { randomUUID } from "node:crypto"
import type { TaskId } from "@corral/domain/identity/Ids"
import { followTask } from "./FollowTask.ts"
import { type Follow, Follows } from "./Follows.ts"

/** Renewed several times in a lease. */
const EVERY = "2 seconds"
/** Tasks at once. More wait until one has ended. */
const MOST = 1_000

export class TaskFollower extends Context.Service<
  TaskFollower,
  {
    /** There is something new to follow. */
    readonly wake: Effect.Effect<void>
  }
>()("corral/gateway/Follower") {
  static readonly layer = Layer.effect(
    TaskFollower,
    Effect.gen(function* () {
      const follows = yield* Follows
      const owner = randomUUID()
      const more = yield* Queue.sliding<void>(1)
      const held = new Map<TaskId, Fiber.Fiber<void>>()

      const begin = Effect.fnUntraced(function* (follow: Follow) {
        const following = Effect.scoped(followTask(follow)).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.void
              : Effect.logError("failed to follow a task", { taskId: follow.taskId }, cause)
          ),
          Effect.ensuring(Effect.sync(() => held.delete(follow.taskId)))
        )
        held.set(follow.taskId, yield* Effect.forkScoped(following))
      })

      const round = Effect.gen(function* () {
        const leased = yield* follows.lease(owner, MOST)
        const mine = new Set(leased.map(({ taskId }) => taskId))
        // Another Gateway holds them, or they have ended.
        const lost = [...held].filter(([taskId]) => !mine.has(taskId))
        yield* Effect.forEach(lost, ([, fiber]) => Fiber.interrupt(fiber), { discard: true })
        yield* Effect.forEach(
          leased.filter(({ taskId }) => !held.has(taskId)),
          begin,
          { discard: true }
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("follows cannot be read", cause)))

      yield* Effect.addFinalizer(() => Effect.ignoreCause(follows.release(owner)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(round, Effect.timeoutOption(Queue.take(more), EVERY)))
      )
      return TaskFollower.of({ wake: Effect.asVoid(Queue.offer(more, undefined)) })
    })
  )
}
