/**
 * Brings tasks to their targets: woken when there is one for a target, or when a target has come, it starts what waits, oldest first.
 *
 * A start is repeated after a break, under the same run id: an Edge starts a run once, and several Hubs that ask get one answer. A start
 * without an answer ends after a timeout and delays no other. The dispatcher also claims the starts that a stopped Hub left behind, and
 * ends tasks that have waited too long.
 */
import type { DeviceId, TaskId } from "@corral/domain/identity/Ids"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Context, Effect, Latch, Layer, Schedule } from "effect"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { type ClaimedTask, Tasks } from "./Tasks.ts"

/** Starts of one target that are not answered yet. */
const MOST_STARTED = 64

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

      /** Tasks whose start is not answered yet. */
      const started = new Map<DeviceId, Set<TaskId>>()

      const start = (targetId: DeviceId, task: ClaimedTask, onWritten: Effect.Effect<void>) =>
        router.start(targetId, { runId: task.runId, create: task.create }, onWritten).pipe(
          // Of whoever made it, and not of whoever has woken us.
          Effect.provideService(CurrentTraceparent, task.traceparent),
          Effect.matchEffect({
            onSuccess: () => tasks.markDispatched(task),
            onFailure: (error) => {
              if (!("code" in error)) return Effect.fail(error)
              const { code, message } = error
              if (error._tag === "StartRefused") return tasks.markRefused(task, { code, message })
              if (error.details?.outcome === "unknown") return Effect.void
              return tasks.markUnreachable(task, { code, message })
            }
          })
        )

      /** Returns once the start is queued, so an Edge that does not answer does not delay later tasks. */
      const begin = Effect.fnUntraced(function* (targetId: DeviceId, task: ClaimedTask) {
        const open = started.get(targetId) ?? new Set<TaskId>()
        if (open.has(task.id)) return
        started.set(targetId, open.add(task.id))
        const inLine = Latch.makeUnsafe(false)
        const over = Effect.suspend(() => {
          const wasFull = open.size >= MOST_STARTED
          open.delete(task.id)
          if (open.size === 0) started.delete(targetId)
          return Effect.andThen(inLine.open, wasFull ? wake(targetId) : Effect.void)
        })
        yield* start(targetId, task, Effect.asVoid(inLine.open)).pipe(
          Effect.catch((error) => Effect.logError("tasks wait", error)),
          Effect.ensuring(over),
          Effect.forkIn(scope)
        )
        yield* inLine.await
      })

      const startAll = Effect.fnUntraced(function* (targetId: DeviceId) {
        const isFull = () => (started.get(targetId)?.size ?? 0) >= MOST_STARTED
        let task = isFull() ? undefined : yield* tasks.claim(targetId, undefined)
        while (task !== undefined) {
          yield* begin(targetId, task)
          task = isFull() ? undefined : yield* tasks.claim(targetId, task.id)
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

      yield* tasks.failUnanswered.pipe(
        Effect.catch((error) => Effect.logError("failed to end unanswered tasks", error)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped
      )

      yield* tasks.expireQueued.pipe(
        Effect.catch((error) => Effect.logError("tasks do not expire", error)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped
      )

      const wake = (targetId: DeviceId): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (busy.has(targetId)) return Effect.sync(() => void busy.set(targetId, true))
          busy.set(targetId, false)
          return Effect.asVoid(Effect.forkIn(serve(targetId), scope))
        })

      yield* Effect.flatMap(tasks.findStalledTargets, (targets) =>
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
