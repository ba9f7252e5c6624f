/** Live runs of an Edge: their actors, their slots and the admission limit. In memory; durable state is in the log. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Overloaded, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Deferred, Effect, type Scope } from "effect"
import type { EdgeConfig } from "../../config/EdgeConfig.ts"
import { edgeMetrics } from "../../EdgeMetrics.ts"
import type { RunActor } from "../actor/RunActor.ts"

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
