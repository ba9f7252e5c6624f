/**
 * Brings tasks to their targets: woken when there is one for a target, or when a target has come, it starts what waits, oldest first.
 *
 * A start is asked for once more after a break, under the same run id: an Edge takes a run once, and several Hubs that ask get one answer. One
 * whose answer does not come stays on its way, until that comes or the run's log tells. What a Hub that ended left on its way is looked for. Also ends
 * what has waited too long.
 */
import type { DeviceId } from "@corral/domain/Ids"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Context, Effect, Layer, Schedule } from "effect"
import { EdgeRouter } from "../run/EdgeRouter.ts"
import { type ClaimedTask, Tasks } from "./Tasks.ts"

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** There may be something to start on that target. Returns at once. */
    readonly wake: (targetId: DeviceId) => Effect.Effect<void>
  }
>()("corral/hub/Dispatcher") {
  static readonly layer = Layer.effect(
    Dispatcher,
    Effect.gen(function* () {
      const tasks = yield* Tasks
      const router = yield* EdgeRouter
      const scope = yield* Effect.scope
      /** Targets whose tasks are being started; `true` where there may be more by now. */
      const busy = new Map<DeviceId, boolean>()

      const start = (targetId: DeviceId, task: ClaimedTask) =>
        router.start(targetId, { runId: task.runId, create: task.create }).pipe(
          // Of whoever made it, and not of whoever has woken us.
          Effect.provideService(CurrentTraceparent, task.traceparent),
          Effect.matchEffect({
            onSuccess: () => tasks.dispatched(task),
            onFailure: (error) => {
              if (!("code" in error)) return Effect.fail(error)
              const { code, message } = error
              if (error._tag === "StartRefused") return tasks.refused(task, { code, message })
              if (error.details?.outcome === "unknown") return Effect.void
              return tasks.notReached(task, { code, message })
            }
          })
        )

      const startAll = Effect.fnUntraced(function* (targetId: DeviceId) {
        let task = yield* tasks.claim(targetId, undefined)
        while (task !== undefined) {
          yield* start(targetId, task)
          task = yield* tasks.claim(targetId, task.id)
        }
      })

      const serve = Effect.fnUntraced(function* (targetId: DeviceId) {
        do {
          busy.set(targetId, false)
          // What could not be written is found again when the target wakes us.
          yield* startAll(targetId).pipe(Effect.catch((error) => Effect.logError("tasks wait", error)))
        } while (busy.get(targetId) === true)
        busy.delete(targetId)
      })

      yield* tasks.expire.pipe(
        Effect.catch((error) => Effect.logError("tasks do not expire", error)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped
      )

      const wake = (targetId: DeviceId) =>
        Effect.suspend(() => {
          if (busy.has(targetId)) return Effect.sync(() => void busy.set(targetId, true))
          busy.set(targetId, false)
          return Effect.asVoid(Effect.forkIn(serve(targetId), scope))
        })

      yield* Effect.flatMap(tasks.leftBehind, (targets) =>
        Effect.forEach(targets, wake, { discard: true })
      ).pipe(
        Effect.catch((error) => Effect.logError("tasks that were left behind wait", error)),
        Effect.repeat(Schedule.spaced("15 seconds")),
        Effect.forkScoped
      )

      return Dispatcher.of({ wake })
    })
  )
}
