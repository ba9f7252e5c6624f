/**
 * Follows tasks, each in its own fiber, while this Gateway holds the lease. Another Gateway's tasks are taken over when their leases
 * expire.
 */
import { Cause, Context, Effect, Fiber, Layer, Queue } from "effect"
import { randomUUID } from "node:crypto"
import type { TaskId } from "@corral/domain/identity/Ids"
import { followTask } from "./FollowTask.ts"
import type { Follow } from "./FollowRow.ts"
import { Follows } from "./Follows.ts"

/** Renewed several times in a lease. */
const RENEWAL_PERIOD = "2 seconds"
/** Maximum number of followed tasks. Further tasks wait until one has ended. */
const MAX_FOLLOWED = 1_000

export class TaskFollower extends Context.Service<
  TaskFollower,
  {
    /** Looks for new follows now. */
    readonly wake: Effect.Effect<void>
  }
>()("corral/gateway/TaskFollower") {
  static readonly layer = Layer.effect(
    TaskFollower,
    Effect.gen(function* () {
      const follows = yield* Follows
      const owner = randomUUID()
      const signal = yield* Queue.sliding<void>(1)
      const fibers = new Map<TaskId, Fiber.Fiber<void>>()

      const begin = Effect.fnUntraced(function* (follow: Follow) {
        const following = Effect.scoped(followTask(follow)).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.void
              : Effect.logError("failed to follow a task", { taskId: follow.taskId }, cause)
          ),
          Effect.ensuring(Effect.sync(() => fibers.delete(follow.taskId)))
        )
        fibers.set(follow.taskId, yield* Effect.forkScoped(following))
      })

      const round = Effect.gen(function* () {
        const leased = yield* follows.lease(owner, MAX_FOLLOWED)
        const leasedIds = new Set(leased.map(({ taskId }) => taskId))
        // Another Gateway holds them, or they have ended.
        const lost = [...fibers].filter(([taskId]) => !leasedIds.has(taskId))
        yield* Effect.forEach(lost, ([, fiber]) => Fiber.interrupt(fiber), { discard: true })
        yield* Effect.forEach(
          leased.filter(({ taskId }) => !fibers.has(taskId)),
          begin,
          { discard: true }
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to read follows", cause)))

      yield* Effect.addFinalizer(() => Effect.ignoreCause(follows.release(owner)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(round, Effect.timeoutOption(Queue.take(signal), RENEWAL_PERIOD)))
      )
      return TaskFollower.of({ wake: Effect.asVoid(Queue.offer(signal, undefined)) })
    })
  )
}
