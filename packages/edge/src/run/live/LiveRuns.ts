/**
 * Live runs of an Edge: one supervised fiber for each, from its first event to its end, with their slots, their admission limit, and the end of those
 * that the store stopped. In memory; durable state is in the log.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Overloaded, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Counter, Metrics } from "@corral/service/telemetry/Metrics"
import { Clock, Deferred, Effect, Exit, Queue, type Scope } from "effect"
import type { EdgeConfig } from "../../config/EdgeConfig.ts"
import { edgeMetrics } from "../../EdgeMetrics.ts"
import type { RunActor } from "../actor/RunActor.ts"
import type { Run } from "@corral/domain/run/Run"
import type { TraceSpan } from "@corral/service/telemetry/Traces"
import type { Traces } from "@corral/service/telemetry/Traces"
import type { NotFound } from "@corral/domain/errors/Failures"
import type { Grants } from "../../approval/Grants.ts"
import type { Artifacts } from "../../artifact/Artifacts.ts"
import type { Confinement } from "../../confinement/Confinement.ts"
import type { Holder } from "../../holder/Holder.ts"
import type { Containment } from "../../process/Containment.ts"
import type { RawOutputs } from "../../raw/RawOutputs.ts"
import type { Prices } from "../../runtime/Prices.ts"
import type { Runtimes } from "../../runtime/Runtimes.ts"
import type { Snapshots } from "../../workspace/Snapshots.ts"
import type { Workspaces } from "../../workspace/Workspaces.ts"
import type { Store, StoreFailed } from "../../store/Store.ts"
import type { Layers } from "../../layer/Layers.ts"
import type { Worktrees } from "../../workspace/Worktrees.ts"
import type { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import { type ActorLoss, endRun } from "../recovery/Recovery.ts"
import { findRun } from "../../log/Runs.ts"

const lost: ActorLoss = {
  reason: "store_failed",
  message: "The Edge's store did not take what the run said: the run was stopped."
}

const RETRY = "1 second"

/** What all runs of an Edge share: its services, and what it knows of its runs. */
export interface RunServices {
  readonly edgeId: string
  readonly config: EdgeConfig
  readonly clock: Clock.Clock
  readonly store: Store["Service"]
  readonly log: EdgeEventLog["Service"]
  readonly runtimes: Runtimes["Service"]
  readonly prices: Prices["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
  readonly layers: Layers["Service"]
  readonly snapshots: Snapshots["Service"]
  readonly artifacts: Artifacts["Service"]
  readonly rawOutputs: RawOutputs["Service"]
  readonly grants: Grants["Service"]
  readonly confinement: Confinement["Service"]
  readonly containment: Containment["Service"]
  readonly holder: Holder["Service"]
  readonly traces: Traces
  readonly live: LiveRuns
  readonly stopped: StoppedRuns
  /** A run by its id, live or stored. */
  readonly find: (id: RunId) => Effect.Effect<Run, NotFound>
  /** Runs the actor in a fiber of the supervisor. */
  readonly supervise: (actor: RunActor, span: TraceSpan | undefined) => void
}

export interface StoppedRuns {
  /** Adds a run whose actor is gone and whose last append failed. A run that is not on disk is ignored. */
  readonly add: (id: RunId) => void
}

/**
 * Runs that were stopped because the store rejected their events. Each is ended in the log as soon as the store accepts writes again.
 *
 * Guarantees: their processes are gone by then. The missing events derive from what is on disk, as after a restart. If the Edge ends
 * first, `Recovery` ends these runs.
 */
export const makeStoppedRuns = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"]
) {
  const stopped = new Set<RunId>()
  const more = yield* Queue.sliding<void>(1)

  const end = Effect.fnUntraced(function* (id: RunId) {
    const run = findRun(store, id)
    if (run !== undefined && !isTerminal(run.state)) {
      const now = yield* Clock.currentTimeMillis
      yield* endRun(store, log, run, lost, now)
    }
    stopped.delete(id)
  })

  const endAll = Effect.gen(function* () {
    while (stopped.size > 0) {
      yield* store.writable
      const exit = yield* Effect.exit(Effect.forEach([...stopped], end, { discard: true }))
      if (Exit.isSuccess(exit)) continue
      yield* Effect.logError("a stopped run could not be ended yet", exit.cause)
      yield* Effect.sleep(RETRY)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(more), endAll)))

  const stoppedRuns: StoppedRuns = {
    add: (id) => {
      stopped.add(id)
      Queue.offerUnsafe(more, undefined)
    }
  }
  return stoppedRuns
})

type RunOutcome = "completed" | "failed" | "cancelled" | "lost"

interface RunSupervision {
  readonly live: LiveRuns
  readonly stopped: StoppedRuns
  readonly worktrees: Worktrees["Service"]
  readonly layers: Layers["Service"]
  readonly counters: Readonly<Record<RunOutcome, Counter>>
}

export const runCounters = (metrics: Metrics): RunSupervision["counters"] => ({
  completed: metrics.counter(edgeMetrics.ended, { outcome: "completed" }),
  failed: metrics.counter(edgeMetrics.ended, { outcome: "failed" }),
  cancelled: metrics.counter(edgeMetrics.ended, { outcome: "cancelled" }),
  lost: metrics.counter(edgeMetrics.ended, { outcome: "lost" })
})

/** Runs an actor to its end, then removes what only a live run needs. */
export const superviseRun = (
  { counters, layers, live, stopped, worktrees }: RunSupervision,
  actor: RunActor,
  span: TraceSpan | undefined
): Effect.Effect<void, StoreFailed> => {
  const { id } = actor.run
  const isLeft = () => live.isLeaving && actor.isHeld && !isTerminal(actor.run.state)
  return Effect.scoped(actor.live).pipe(
    Effect.tapError(() => Effect.sync(() => stopped.add(id))),
    Effect.tapCause((cause) =>
      isLeft() ? Effect.void : Effect.logError(`run ${id} lost its supervision`, cause)
    ),
    // Suspended: a live run does not hold the effects of its end.
    Effect.ensuring(
      Effect.suspend(() =>
        isLeft() ? Effect.void : Effect.andThen(worktrees.settle(id), layers.abandon(id))
      )
    ),
    Effect.ensuring(
      Effect.sync(() => {
        if (isLeft()) return
        const outcome = outcomeOf(actor.run)
        counters[outcome].add()
        span?.end({ "corral.run.outcome": outcome }, outcome === "failed" || outcome === "lost")
        live.actors.delete(id)
      })
    )
  )
}

const outcomeOf = ({ state }: Run): RunOutcome =>
  state === "completed" || state === "failed" || state === "cancelled" ? state : "lost"

/** The run once it has ended, or as it is on disk after `millis`. */
export const awaitEnd = (actor: RunActor, millis: number): Effect.Effect<Run> =>
  Effect.timeoutOption(Effect.exit(Deferred.await(actor.ended)), millis).pipe(Effect.map(() => actor.run))

/** Cancels every live run and waits up to `patienceMs` for their ends. No further run is admitted. */
export const endRuns = (live: LiveRuns, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.isDraining = true
    return cancelAll([...live.actors.values()], patienceMs)
  })

/** Leaves the runs that outlive this Edge to the next one, and ends the others as `endRuns` does. */
export const leaveRuns = (live: LiveRuns, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.isDraining = true
    live.isLeaving = true
    return cancelAll(
      [...live.actors.values()].filter(({ isHeld }) => !isHeld),
      patienceMs
    )
  })

const cancelAll = (actors: ReadonlyArray<RunActor>, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    for (const actor of actors) actor.cancel("the Edge is stopping", "system")
    return Effect.forEach(actors, (actor) => awaitEnd(actor, patienceMs), {
      concurrency: "unbounded",
      discard: true
    })
  })

// Queue of runs: a bounded number of slots, and one FIFO queue per flow.
//
// Slots are assigned round robin among the flows, so a flow with a hundred runs delays the first run of another flow by one run. A caller
// waits until a slot is free or its scope closes. Not durable.

type Ticket = Deferred.Deferred<void>

export class RunQueue {
  private readonly slots: number
  private taken = 0
  /** In round-robin order. */
  private readonly flows = new Map<string, Array<Ticket>>()

  constructor(slots: number) {
    this.slots = slots
  }

  /** Whether the next caller does not wait. */
  get isFree(): boolean {
    return this.taken < this.slots
  }

  get waiting(): number {
    let count = 0
    for (const line of this.flows.values()) count += line.length
    return count
  }

  /** Acquires a slot; releases it with the scope. */
  readonly slot = (flow: string): Effect.Effect<void, never, Scope.Scope> =>
    Effect.suspend(() => {
      if (this.taken < this.slots) {
        this.taken++
        return Effect.addFinalizer(() => this.free)
      }
      const ticket = Deferred.makeUnsafe<void>()
      const line = this.flows.get(flow)
      if (line === undefined) this.flows.set(flow, [ticket])
      else line.push(ticket)
      const leave = Effect.suspend(() =>
        Deferred.isDoneUnsafe(ticket) ? this.free : Effect.sync(() => this.withdraw(flow, ticket))
      )
      return Effect.andThen(
        Effect.addFinalizer(() => leave),
        Deferred.await(ticket)
      )
    })

  /** Takes a slot at once, beyond the limit if need be, for a run that has one already. Releases it with the scope. */
  readonly occupy: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => {
    this.taken++
    return Effect.addFinalizer(() => this.free)
  })

  private withdraw(flow: string, ticket: Ticket): void {
    const line = this.flows.get(flow)?.filter((other) => other !== ticket) ?? []
    if (line.length === 0) this.flows.delete(flow)
    else this.flows.set(flow, line)
  }

  /** Passes the slot to the first flow, and moves the flow to the end. */
  private readonly free: Effect.Effect<void> = Effect.suspend(() => {
    const next = this.flows.entries().next()
    if (next.done === true || this.taken > this.slots) {
      this.taken--
      return Effect.void
    }
    const [flow, [ticket, ...rest]] = next.value
    this.flows.delete(flow)
    if (rest.length > 0) this.flows.set(flow, rest)
    return ticket === undefined ? this.free : Deferred.succeed(ticket, undefined)
  })
}

const inUse = Effect.fail(
  new SchemaValidationFailed({
    details: { issues: [{ path: "resume", message: "Another run is continuing this conversation." }] }
  })
)

export class LiveRuns {
  readonly actors = new Map<RunId, RunActor>()
  readonly queue: RunQueue
  /** A stopping Edge admits no more runs. */
  isDraining = false
  /** An Edge that leaves its runs to the next one. */
  isLeaving = false
  readonly #capacity: number
  #admitting = 0
  /** Ids that callers chose and that are being admitted. */
  readonly #admittedIds = new Set<RunId>()
  /** Conversations of runtimes, which runs that are being admitted continue. */
  readonly #reserved = new Set<string>()

  constructor({ maxQueued, maxRuns }: Pick<EdgeConfig, "maxQueued" | "maxRuns">) {
    this.queue = new RunQueue(maxRuns)
    this.#capacity = maxRuns + maxQueued
  }

  /** Runs that have a slot. */
  get running(): number {
    return this.actors.size - this.queue.waiting
  }

  /** Admits a run below the limit. `id` is the caller's choice. A second run with the same id would look like a failing store. */
  admitting<A, E, R>(
    id: RunId | undefined,
    admission: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | Overloaded, R> {
    if (id !== undefined && this.#admittedIds.has(id)) return Effect.fail(new Overloaded())
    const isFull = this.actors.size + this.#admitting >= this.#capacity
    if (this.isDraining || isFull) return Effect.fail(new Overloaded())
    this.#admitting++
    if (id !== undefined) this.#admittedIds.add(id)
    return Effect.ensuring(
      admission,
      Effect.sync(() => {
        this.#admitting--
        if (id !== undefined) this.#admittedIds.delete(id)
      })
    )
  }

  /**
   * Reserves a runtime's conversation until the run that continues it is live. Runtimes lose what one of two runs adds to the same conversation.
   */
  reserve(conversation: string): Effect.Effect<void, SchemaValidationFailed, Scope.Scope> {
    const reservation = Effect.suspend(() => {
      if (this.#reserved.has(conversation) || this.#isInLiveRun(conversation)) return inUse
      return Effect.sync(() => void this.#reserved.add(conversation))
    })
    return Effect.acquireRelease(reservation, () =>
      Effect.sync(() => void this.#reserved.delete(conversation))
    )
  }

  #isInLiveRun(conversation: string): boolean {
    for (const { continues, run } of this.actors.values()) {
      const { runtimeSessionId, state } = run
      if ((continues === conversation || runtimeSessionId === conversation) && !isTerminal(state)) return true
    }
    return false
  }

  /** Reports the numbers of live runs, queued runs, pending approvals and open questions. */
  sampleInto(metrics: Metrics): void {
    metrics.sample(
      Effect.sync(() => {
        let approvals = 0
        let inputs = 0
        for (const actor of this.actors.values()) {
          const { pendingApprovals, pendingInputs = [] } = actor.run
          approvals += pendingApprovals.length
          inputs += pendingInputs.length
        }
        return [
          [edgeMetrics.live, this.running],
          [edgeMetrics.queued, this.queue.waiting],
          [edgeMetrics.approvals, approvals],
          [edgeMetrics.inputs, inputs]
        ]
      })
    )
  }
}
