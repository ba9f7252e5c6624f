/**
 * The pushes of one link, taken in the order in which they came: what has gathered while one transaction was on its way is the next one.
 *
 * Nothing is kept here but the window that the link is allowed.
 */
import { type EventBatch, MAX_PUSHES_IN_FLIGHT, type PushAck } from "@corral/domain/link/EdgeLink"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Exit } from "effect"
import type { PushRefusal, PushResult } from "../run/RunLog.ts"

/** Makes those batches durable, in one go. */
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
  private pumping = false
  private inFlight = 0

  /** `run` starts an effect, which ends by itself when nothing waits. */
  constructor(append: AppendBatches<E>, run: (effect: Effect.Effect<void>) => void) {
    this.append = append
    this.run = run
  }

  /** The push stands in the line as soon as this is called; `undefined` where there are more than the window already. */
  push(batches: ReadonlyArray<EventBatch>): Effect.Effect<ReadonlyArray<PushAck>, E> | undefined {
    if (this.inFlight >= MAX_PUSHES_IN_FLIGHT) return undefined
    this.inFlight++
    const answer = new Promise<Effect.Effect<ReadonlyArray<PushAck>, E>>((resolve) => {
      this.waiting.push({ batches, resume: resolve })
    })
    if (!this.pumping) {
      this.pumping = true
      this.run(this.pump())
    }
    return Effect.flatten(Effect.promise(() => answer))
  }

  private pump(): Effect.Effect<void> {
    return Effect.whileLoop({
      while: () => {
        if (this.waiting.length === 0) this.pumping = false
        return this.pumping
      },
      body: () => {
        const pushes = this.waiting
        this.waiting = []
        return Effect.map(Effect.exit(this.append(pushes.flatMap(({ batches }) => batches))), (taken) => ({
          pushes,
          taken
        }))
      },
      step: ({ pushes, taken }) => {
        this.inFlight -= pushes.length
        for (const { batches, resume } of pushes)
          resume(
            Exit.isSuccess(taken)
              ? Effect.succeed(acksOf(batches, taken.value))
              : Effect.failCause(taken.cause)
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

/** What a push is told of its runs. A push before the one that was refused was taken whole, and is told so. */
const acksOf = (
  batches: ReadonlyArray<EventBatch>,
  taken: ReadonlyArray<PushResult>
): ReadonlyArray<PushAck> => {
  const last = new Map<RunId, number>()
  for (const { events, firstSeq, runId } of batches)
    last.set(runId, Math.max(last.get(runId) ?? 0, firstSeq + events.length - 1))
  return taken.flatMap(({ refusal, runId, seq }) => {
    const end = last.get(runId)
    if (end === undefined) return []
    return refusal === undefined || (refusal !== "unknown" && seq >= end)
      ? [{ runId, seq }]
      : [{ runId, seq, refused: refusals[refusal] }]
  })
}
