/**
 * Queue of the pushes of one link.
 *
 * Guarantees: pushes are stored in the order of their arrival. Pushes that arrive during a transaction share the next one. The queue holds at most
 * `MAX_PUSHES_IN_FLIGHT` pushes.
 */
import { type EventBatch, MAX_PUSHES_IN_FLIGHT, type PushAck } from "@corral/domain/link/EdgeLink"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Exit } from "effect"
import type { PushRefusal } from "../run/PushedRun.ts"
import type { PushResult } from "../run/RunLog.ts"

/** Stores the batches in one transaction. */
export type AppendBatches<E> = (
  batches: ReadonlyArray<EventBatch>
) => Effect.Effect<ReadonlyArray<PushResult>, E>

interface Push<E> {
  readonly batches: ReadonlyArray<EventBatch>
  readonly resume: (answer: Effect.Effect<ReadonlyArray<PushAck>, E>) => void
}

export class PushQueue<E> {
  private readonly append: AppendBatches<E>
  private readonly run: (effect: Effect.Effect<void>) => void
  private waiting: Array<Push<E>> = []
  private isPumping = false
  private inFlight = 0

  /** `run` starts an effect that ends when the queue is empty. */
  constructor(append: AppendBatches<E>, run: (effect: Effect.Effect<void>) => void) {
    this.append = append
    this.run = run
  }

  /** Queues the push immediately. Returns `undefined` if the queue is full. */
  push(batches: ReadonlyArray<EventBatch>): Effect.Effect<ReadonlyArray<PushAck>, E> | undefined {
    if (this.inFlight >= MAX_PUSHES_IN_FLIGHT) return undefined
    this.inFlight++
    const answer = new Promise<Effect.Effect<ReadonlyArray<PushAck>, E>>((resolve) => {
      this.waiting.push({ batches, resume: resolve })
    })
    if (!this.isPumping) {
      this.isPumping = true
      this.run(this.pump())
    }
    return Effect.flatten(Effect.promise(() => answer))
  }

  private pump(): Effect.Effect<void> {
    return Effect.whileLoop({
      while: () => {
        if (this.waiting.length === 0) this.isPumping = false
        return this.isPumping
      },
      body: () => {
        const pushes = this.waiting
        this.waiting = []
        return Effect.map(Effect.exit(this.append(pushes.flatMap(({ batches }) => batches))), (results) => ({
          pushes,
          results
        }))
      },
      step: ({ pushes, results }) => {
        this.inFlight -= pushes.length
        for (const { batches, resume } of pushes)
          resume(
            Exit.isSuccess(results)
              ? Effect.succeed(acksOf(batches, results.value))
              : Effect.failCause(results.cause)
          )
      }
    })
  }
}

const refusals = {
  unknown: "permission_denied",
  gap: "conflict",
  broken: "schema_validation_failed"
} as const satisfies Record<PushRefusal, PushAck["refused"]>

/** Acknowledgement of one push. A push that comes before a refused one was stored as a whole and is acknowledged. */
const acksOf = (
  batches: ReadonlyArray<EventBatch>,
  results: ReadonlyArray<PushResult>
): ReadonlyArray<PushAck> => {
  const last = new Map<RunId, number>()
  for (const { events, firstSeq, runId } of batches)
    last.set(runId, Math.max(last.get(runId) ?? 0, firstSeq + events.length - 1))
  return results.flatMap(({ refusal, runId, seq }) => {
    const end = last.get(runId)
    if (end === undefined) return []
    return refusal === undefined || (refusal !== "unknown" && seq >= end)
      ? [{ runId, seq }]
      : [{ runId, seq, refused: refusals[refusal] }]
  })
}
