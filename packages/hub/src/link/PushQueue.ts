/**
 * Queue of the pushes of all links of a Hub. What arrives during a transaction shares the next one; an idle queue waits for nothing.
 *
 * Guarantees: the pushes of a link are stored in the order of their arrival. A link that is no longer the newest of its device fails alone. After
 * a failed statement, each link's pushes are tried alone, so that a push fails no other link's.
 */
import type { Conflict, Unauthorized } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { EventBatch, PushAck } from "@corral/domain/link/EdgeLink"
import { Deferred, Effect, Exit, Option, Result } from "effect"
import type { SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceRow.ts"
import type { PushRefusal } from "../run/PushedRun.ts"
import type { LinkPush, PushResult } from "../run/RunPushes.ts"
import { withinStatementLimit } from "../store/Gathered.ts"

export type PushFailure = Conflict | Unauthorized | SqlError.SqlError

/** Stores the pushes in one transaction. Returns one result per push. */
export type StorePushes = (
  pushes: ReadonlyArray<LinkPush>
) => Effect.Effect<
  ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, Conflict | Unauthorized>>,
  SqlError.SqlError
>

interface WaitingPush extends LinkPush {
  readonly characters: number
  readonly acks: Deferred.Deferred<ReadonlyArray<PushAck>, PushFailure>
}

/** Characters of one transaction. A larger push is stored alone. */
const MAX_TRANSACTION_CHARACTERS = 4 * 1_048_576
/** Characters that wait before a second transaction begins beside the first. Small pushes wait instead: one transaction costs less than two. */
const SECOND_TRANSACTION_CHARACTERS = 262_144
const MAX_TRANSACTIONS = 2

export class PushQueue {
  private readonly store: StorePushes
  private readonly run: (effect: Effect.Effect<void>) => void
  private waiting: Array<WaitingPush> = []
  /** Characters that wait. */
  private characters = 0
  /** Devices whose pushes are being stored. Their next pushes wait. */
  private readonly storing = new Set<string>()
  private transactions = 0

  /** `run` starts an effect that ends when the queue is empty. */
  constructor(store: StorePushes, run: (effect: Effect.Effect<void>) => void) {
    this.store = store
    this.run = run
  }

  /** Queues the push immediately. The effect succeeds when the push is durable. */
  push(
    link: DeviceLink,
    batches: ReadonlyArray<EventBatch>
  ): Effect.Effect<ReadonlyArray<PushAck>, PushFailure> {
    let characters = 0
    for (const { events } of batches) for (const { length } of events) characters += length
    const acks = Deferred.makeUnsafe<ReadonlyArray<PushAck>, PushFailure>()
    this.waiting.push({ link, targetId: link.deviceId, batches, characters, acks })
    this.characters += characters
    this.startDue()
    return Deferred.await(acks)
  }

  private startDue(): void {
    while (this.transactions < MAX_TRANSACTIONS) {
      if (this.waiting.length === 0) return
      if (this.transactions > 0 && this.characters < SECOND_TRANSACTION_CHARACTERS) return
      const pushes = this.takeDue()
      if (pushes.length === 0) return
      this.transactions++
      for (const { targetId } of pushes) this.storing.add(targetId)
      this.run(Effect.map(this.settle(pushes), () => this.finish(pushes)))
    }
  }

  /** The oldest pushes of devices that are not being stored, up to the size of a transaction. */
  private takeDue(): ReadonlyArray<WaitingPush> {
    const [taken, left]: [Array<WaitingPush>, Array<WaitingPush>] = [[], []]
    let characters = 0
    for (const push of this.waiting) {
      const fits = taken.length === 0 || characters + push.characters <= MAX_TRANSACTION_CHARACTERS
      if (fits && !this.storing.has(push.targetId)) {
        taken.push(push)
        characters += push.characters
      } else {
        left.push(push)
        // Later pushes of that device must not overtake this one.
        if (!fits) return this.keep(taken, [...left, ...this.waiting.slice(taken.length + left.length)])
      }
    }
    return this.keep(taken, left)
  }

  private keep(taken: ReadonlyArray<WaitingPush>, left: Array<WaitingPush>): ReadonlyArray<WaitingPush> {
    this.waiting = left
    for (const { characters } of taken) this.characters -= characters
    return taken
  }

  private finish(pushes: ReadonlyArray<WaitingPush>): void {
    this.transactions--
    for (const { targetId } of pushes) this.storing.delete(targetId)
    this.startDue()
  }

  /** Stores the pushes and resumes their callers. Never fails. */
  private settle(pushes: ReadonlyArray<WaitingPush>): Effect.Effect<void> {
    return Effect.flatMap(Effect.exit(withinStatementLimit(this.store(pushes))), (exit) => {
      if (Exit.isSuccess(exit)) return Effect.sync(() => resumeAll(pushes, exit.value))
      const links = new Set(pushes.map(({ link }) => link))
      if (links.size > 1 && !isDatabaseLost(exit))
        return Effect.forEach(links, (link) => this.settle(pushes.filter((push) => push.link === link)), {
          discard: true
        })
      return Effect.sync(() => {
        for (const { acks } of pushes) Deferred.doneUnsafe(acks, Exit.failCause(exit.cause))
      })
    })
  }
}

/** Then each of the pushes would fail in the same way, one after the other. */
const isDatabaseLost = (exit: Exit.Exit<unknown, SqlError.SqlError>): boolean => {
  const error = Exit.findErrorOption(exit)
  return Option.isSome(error) && error.value.reason._tag === "ConnectionError"
}

const resumeAll = (
  pushes: ReadonlyArray<WaitingPush>,
  results: ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, Conflict | Unauthorized>>
): void => {
  for (const [i, { acks, batches }] of pushes.entries()) {
    const result = results[i]
    const exit =
      result === undefined
        ? Exit.die(new Error("a push has no result"))
        : Result.isSuccess(result)
          ? Exit.succeed(acksOf(batches, result.success))
          : Exit.fail(result.failure)
    Deferred.doneUnsafe(acks, exit)
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
