/**
 * Dispatcher of tasks to their targets. Woken when a target has a new task or comes online, it starts the waiting tasks, oldest first. Tasks
 * that received their run when they were created come from memory, in the order of their commits.
 *
 * Guarantees: a start is repeated under the same run id, so an Edge starts a run once, whichever Hubs send the start. A start without an answer
 * times out and delays no other start. Starts that a stopped Hub left behind are dispatched again, and expired tasks end.
 */
import type { DeviceId, RunId, TaskId } from "@corral/domain/identity/Ids"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Context, type Duration, Effect, Exit, Latch, Layer, Schedule, type Scope } from "effect"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { RunLog } from "../run/RunLog.ts"
import type { ClaimedTask } from "./TaskRow.ts"
import { Tasks } from "./Tasks.ts"

/** Unanswered starts per target. */
const MAX_UNANSWERED = 64

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** Dispatches what the target has waiting. Returns without waiting for it. */
    readonly wake: (targetId: DeviceId) => Effect.Effect<void>
    /** `wake` after an Edge has answered a start, unless this Hub waits for the answer. */
    readonly wakeAnswered: (targetId: DeviceId, runId: RunId) => Effect.Effect<void>
  }
>()("corral/hub/Dispatcher") {
  static readonly layer = Layer.effect(
    Dispatcher,
    Effect.gen(function* () {
      const tasks = yield* Tasks
      const log = yield* RunLog
      const state: DispatcherState = {
        tasks,
        router: yield* EdgeRouter,
        scope: yield* Effect.scope,
        serving: new Map(),
        unanswered: new Map()
      }
      const wakeStalled = Effect.flatMap(tasks.findStalledTargets, (targets) =>
        Effect.forEach(targets, (targetId) => wake(state, targetId), { discard: true })
      )
      yield* repeat(tasks.failUnanswered, "1 second", "failed to end unanswered tasks")
      yield* repeat(tasks.expireQueued, "1 second", "failed to expire tasks")
      yield* repeat(wakeStalled, "15 seconds", "failed to dispatch stalled tasks")
      // Not in the fiber that created the task: it may still have its transaction.
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const serveLater = (targetId: DeviceId, due: Partial<DueStarts>) => {
        if (serve(state, targetId, due)) fork(Effect.forkIn(serveAll(state, targetId), state.scope))
      }
      tasks.onAssigned((targetId, task) => serveLater(targetId, { assigned: [task] }))
      log.onTask((targetId) => serveLater(targetId, { hasMore: true }))
      const wakeMissed = (targetId: DeviceId) => {
        for (const start of state.unanswered.get(targetId)?.values() ?? []) start.isMissed = true
        return wake(state, targetId)
      }
      return Dispatcher.of({
        wake: (targetId) => Effect.suspend(() => wakeMissed(targetId)),
        wakeAnswered: (targetId, runId) =>
          Effect.suspend(() => {
            const starts = [...(state.unanswered.get(targetId)?.values() ?? [])]
            return starts.some((start) => start.runId === runId) ? Effect.void : wakeMissed(targetId)
          })
      })
    })
  )
}

interface DispatcherState {
  readonly tasks: Tasks["Service"]
  readonly router: EdgeRouter["Service"]
  readonly scope: Scope.Scope
  /** Targets that are being served, with what is due. */
  readonly serving: Map<DeviceId, DueStarts>
  /** Starts without an answer. */
  readonly unanswered: Map<DeviceId, Map<TaskId, OpenStart>>
}

interface DueStarts {
  /** Tasks that have their run, in the order of their commits. */
  readonly assigned: Array<ClaimedTask>
  /** Whether there may be tasks to claim. */
  hasMore: boolean
}

interface OpenStart {
  readonly runId: RunId
  /** Whether the target has been woken since, or must be because the task is in the queue again. */
  isMissed: boolean
}

const repeat = <E>(effect: Effect.Effect<void, E>, interval: Duration.Input, failure: string) =>
  effect.pipe(
    Effect.catchCause((cause) => Effect.logError(failure, cause)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.forkScoped
  )

const wake = (state: DispatcherState, targetId: DeviceId): Effect.Effect<void> =>
  Effect.suspend(() =>
    serve(state, targetId, { hasMore: true })
      ? Effect.asVoid(Effect.forkIn(serveAll(state, targetId), state.scope))
      : Effect.void
  )

/** Adds what is due for the target. Returns whether the caller must run `serveAll`. */
const serve = (
  { serving }: DispatcherState,
  targetId: DeviceId,
  { assigned = [], hasMore = false }: Partial<DueStarts>
): boolean => {
  const due = serving.get(targetId)
  if (due === undefined) serving.set(targetId, { assigned: [...assigned], hasMore })
  else {
    due.assigned.push(...assigned)
    due.hasMore ||= hasMore
  }
  return due === undefined
}

const serveAll = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId) {
  for (;;) {
    const due = state.serving.get(targetId)
    if (due === undefined || (due.assigned.length === 0 && !due.hasMore)) break
    // A task that could not be written is found again when the target wakes the dispatcher.
    yield* startDue(state, targetId, due).pipe(
      Effect.catchCause((cause) => Effect.logError("failed to dispatch tasks", cause))
    )
  }
  state.serving.delete(targetId)
})

const startDue = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId, due: DueStarts) {
  const { tasks, unanswered } = state
  const isFull = () => (unanswered.get(targetId)?.size ?? 0) >= MAX_UNANSWERED
  const assigned = due.assigned.shift()
  if (assigned !== undefined) {
    // The end of an open start wakes the dispatcher, which then claims the task.
    if (!isFull()) yield* begin(state, targetId, assigned)
    return
  }
  due.hasMore = false
  const claimAfter = (after: TaskId | undefined) =>
    isFull() ? Effect.undefined : tasks.claim(targetId, after, [...(unanswered.get(targetId)?.keys() ?? [])])
  let task = yield* claimAfter(undefined)
  while (task !== undefined) {
    yield* begin(state, targetId, task)
    task = yield* claimAfter(task.id)
  }
})

/** Returns once the start is queued, so an Edge that does not answer does not delay later tasks. */
const begin = Effect.fnUntraced(function* (state: DispatcherState, targetId: DeviceId, task: ClaimedTask) {
  const { scope, unanswered } = state
  const open = unanswered.get(targetId) ?? new Map<TaskId, OpenStart>()
  if (open.has(task.id)) return
  const opened: OpenStart = { runId: task.runId, isMissed: false }
  unanswered.set(targetId, open.set(task.id, opened))
  const queued = Latch.makeUnsafe(false)
  const end = (isReturned: boolean) => {
    // The target came back before the task returned, and found nothing to start.
    const isMissed = isReturned && opened.isMissed
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
  { router, tasks, unanswered }: DispatcherState,
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
        if (error._tag === "StartRefused")
          return Effect.tap(tasks.markRefused(task, { code, message }), (isAgain) =>
            Effect.sync(() => {
              const open = unanswered.get(targetId)?.get(task.id)
              if (isAgain && open !== undefined) open.isMissed = true
            })
          )
        if (error.details?.outcome === "unknown") return Effect.succeed(false)
        return Effect.as(tasks.markUnreachable(task, { code, message }), true)
      }
    })
  )
