/** Live runs of an Edge: their actors, their slots and the admission limit. In memory; durable state is in the log. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Overloaded, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Effect, type Scope } from "effect"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import type { RunActor } from "./RunActor.ts"
import { RunQueue } from "./RunQueue.ts"

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
