/**
 * Dispatcher of tasks to their targets. Woken when a target has a new task or comes online, it starts the waiting tasks, oldest first.
 *
 * Guarantees: a start is repeated under the same run id, so an Edge starts a run once, whichever Hubs send the start. A start without an answer
 * times out and delays no other start. Starts that a stopped Hub left behind are dispatched again, and expired tasks end.
 */
import type { DeviceId, TaskId } from "@corral/domain/identity/Ids"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Context, type Duration, Effect, Exit, Latch, Layer, Schedule, type Scope } from "effect"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import type { ClaimedTask } from "./TaskClaims.ts"
import { Tasks } from "./Tasks.ts"

/** Unanswered starts per target. */
const MAX_UNANSWERED = 64

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** Dispatches what the target has waiting. Returns without waiting for it. */
    readonly wake: (targetId: DeviceId) => Effect.Effect<void>
  }
>()("corral/hub/Dispatcher") {
  static readonly layer = Layer.effect(
    Dispatcher,
    Effect.gen(function* () {
      const tasks = yield* Tasks
      const state: DispatcherState = {
        tasks,
        router: yield* EdgeRouter,
        scope: yield* Effect.scope,
        hasMore: new Map(),
        unanswered: new Map()
      }
      const wakeStalled = Effect.flatMap(tasks.findStalledTargets, (targets) =>
        Effect.forEach(targets, (targetId) => wake(state, targetId), { discard: true })
      )
      yield* repeat(tasks.failUnanswered, "1 second", "failed to end unanswered tasks")
      yield* repeat(tasks.expireQueued, "1 second", "failed to expire tasks")
      yield* repeat(wakeStalled, "15 seconds", "failed to dispatch stalled tasks")
      return Dispatcher.of({
        wake: (targetId) => {
          const open = state.unanswered.get(targetId)
          for (const id of open?.keys() ?? []) open?.set(id, true)
          return wake(state, targetId)
        }
      })
    })
  )
}

interface DispatcherState {
  readonly tasks: Tasks["Service"]
  readonly router: EdgeRouter["Service"]
  readonly scope: Scope.Scope
  /** Targets that are being served; `true` where there may be more tasks since the last claim. */
  readonly hasMore: Map<DeviceId, boolean>
  /** Starts without an answer; `true` where the target has been woken since. */
  readonly unanswered: Map<DeviceId, Map<TaskId, boolean>>
}

const repeat = <E>(effect: Effect.Effect<void, E>, interval: Duration.Input, failure: string) =>
  effect.pipe(
    Effect.catchCause((cause) => Effect.logError(failure, cause)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.forkScoped
  )

const wake = (state: DispatcherState, targetId: DeviceId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { hasMore, scope } = state
    if (hasMore.has(targetId)) return Effect.sync(() => void hasMore.set(targetId, true))
    hasMore.set(targetId, false)
    return Effect.asVoid(Effect.forkIn(serve(state, targetId), scope))
  })

const serve = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId) {
  const { hasMore } = state
  do {
    hasMore.set(targetId, false)
    // A task that could not be written is found again when the target wakes the dispatcher.
    yield* startAll(state, targetId).pipe(
      Effect.catchCause((cause) => Effect.logError("failed to dispatch tasks", cause))
    )
  } while (hasMore.get(targetId) === true)
  hasMore.delete(targetId)
})

const startAll = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId) {
  const { tasks, unanswered } = state
  const isFull = () => (unanswered.get(targetId)?.size ?? 0) >= MAX_UNANSWERED
  let task = isFull() ? undefined : yield* tasks.claim(targetId, undefined)
  while (task !== undefined) {
    yield* begin(state, targetId, task)
    task = isFull() ? undefined : yield* tasks.claim(targetId, task.id)
  }
})

/** Returns once the start is queued, so an Edge that does not answer does not delay later tasks. */
const begin = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId, task: ClaimedTask) {
  const { scope, unanswered } = state
  const open = unanswered.get(targetId) ?? new Map<TaskId, boolean>()
  if (open.has(task.id)) return
  unanswered.set(targetId, open.set(task.id, false))
  const queued = Latch.makeUnsafe(false)
  const end = (isReturned: boolean) => {
    // The target came back before the task returned, and found nothing to start.
    const isMissed = isReturned && open.get(task.id) === true
    const wasFull = open.size >= MAX_UNANSWERED
    open.delete(task.id)
    if (open.size === 0) unanswered.delete(targetId)
    return Effect.andThen(queued.open, wasFull || isMissed ? wake(state, targetId) : Effect.void)
  }
  yield* start(state, targetId, task, Effect.asVoid(queued.open)).pipe(
    Effect.catch((error) => Effect.as(Effect.logError("failed to dispatch task", error), false)),
    Effect.onExit((exit) => end(Exit.isSuccess(exit) && exit.value)),
    Effect.forkIn(scope)
  )
  yield* queued.await
})

const startOf = ({ attachments, create, runId }: ClaimedTask) => ({
  runId,
  create,
  ...(attachments === undefined ? {} : { attachments })
})

/** Returns whether the task may be in the queue again. */
const start = (
  { router, tasks }: DispatcherState,
  targetId: DeviceId,
  task: ClaimedTask,
  onWritten: Effect.Effect<void>
) =>
  router.start(targetId, startOf(task), onWritten).pipe(
    // The trace of the task's author, not of the request that woke the dispatcher.
    Effect.provideService(CurrentTraceparent, task.traceparent),
    Effect.matchEffect({
      onSuccess: () => Effect.as(tasks.markDispatched(task), false),
      onFailure: (error) => {
        if (!("code" in error)) return Effect.fail(error)
        const { code, message } = error
        if (error._tag === "StartRefused") return Effect.as(tasks.markRefused(task, { code, message }), false)
        if (error.details?.outcome === "unknown") return Effect.succeed(false)
        return Effect.as(tasks.markUnreachable(task, { code, message }), true)
      }
    })
  )
