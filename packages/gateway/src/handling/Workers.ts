/**
 * Workers that handle the pending events: each is normalized and handled at least once. A failed event is retried alone, for at most two
 * minutes; then it is a dead letter and its sender is owed a notice.
 *
 * Guarantees: a bounded number of events in progress, of one chat no more than half of that, of one sender one.
 * Does not: delay the acknowledgement of an event, which was sent before.
 */
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Cause, Clock, Effect, Fiber, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import type { ClaimedEvent } from "../inbox/ClaimedEvents.ts"
import { SenderQueues } from "../inbox/SenderQueues.ts"
import type { ChatPlatform, NotUnderstood, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { Handler, HandlerFailed } from "./Handler.ts"
import { deadlineOf, nextAttempt, PATIENCE_MS } from "./RetryPolicy.ts"
import { eventKeyOf, stampEvent } from "./Stamp.ts"

export interface WorkOptions {
  readonly handler: Handler
  /** Events in progress. */
  readonly workers?: number | undefined
  /** How long an event is retried, in milliseconds. */
  readonly patienceMs?: number | undefined
  /** Starts of one event that the Gateway did not survive. */
  readonly maxCrashes?: number | undefined
}

const WORKERS = 32
const MAX_CRASHES = 3
/** Leases are renewed several times in a lease. */
const RENEWAL_MS = 2_000
/** Another Gateway's changes, and retries that are due, are seen within this. */
const POLL = "500 millis"
/** Minimum time for an attempt, for the last attempt at an event too. */
const SHORTEST_ATTEMPT_MS = 10_000

interface Failed {
  readonly reason: string
  readonly permanent: boolean
  readonly retryAfterMs?: number | undefined
}

const failedOf = (error: HandlerFailed | NotUnderstood | PlatformUnavailable): Failed => ({
  reason: error.message,
  permanent: error._tag === "NotUnderstood" || (error._tag === "HandlerFailed" && error.permanent),
  retryAfterMs: error._tag === "HandlerFailed" ? error.retryAfterMs : undefined
})

const countersOf = Effect.map(CurrentMetrics, (metrics) => ({
  done: metrics.counter(gatewayMetrics.handled, { outcome: "done" }),
  buried: metrics.counter(gatewayMetrics.handled, { outcome: "buried" }),
  retried: metrics.counter(gatewayMetrics.handled, { outcome: "retried" })
}))

/** One attempt at an event, with its result: completed, retried or moved to the dead letters. */
const attemptOf = Effect.fnUntraced(function* (
  owner: string,
  platforms: ReadonlyArray<ChatPlatform>,
  { handler, maxCrashes = MAX_CRASHES, patienceMs = PATIENCE_MS }: WorkOptions
) {
  const clock = yield* Clock.Clock
  const queues = yield* SenderQueues
  const handled = yield* countersOf
  const byId = new Map(platforms.map((platform) => [platform.id, platform]))

  const handle = Effect.fnUntraced(function* ({ inbound, position }: ClaimedEvent) {
    const platform = byId.get(inbound.platform)
    if (platform === undefined) return yield* Effect.die("no platform of this id is set up")
    const draft = yield* platform.normalize(inbound)
    if (draft !== undefined) yield* handler(stampEvent(draft, inbound, position), inbound)
  })

  const giveUp = Effect.fnUntraced(function* (event: ClaimedEvent, { permanent, reason }: Failed) {
    const { attempts, inbound } = event
    yield* Effect.logError("event moved to dead letters", { event: eventKeyOf(inbound), attempts, reason })
    yield* queues.giveUp(owner, event, { reason, isPassing: !permanent })
    handled.buried.add()
  })

  return Effect.fnUntraced(function* (event: ClaimedEvent) {
    const { attempts, failures, inbound } = event
    if (attempts - failures > maxCrashes)
      return yield* giveUp(event, { reason: "It was never finished.", permanent: true })
    const deadline = deadlineOf(event, clock.currentTimeMillisUnsafe(), patienceMs)
    const left = Math.max(deadline - clock.currentTimeMillisUnsafe(), SHORTEST_ATTEMPT_MS)
    const failed = yield* handle(event).pipe(
      Effect.timeoutOrElse({
        duration: `${left} millis`,
        orElse: () => Effect.succeed<Failed>({ reason: "It took too long.", permanent: false })
      }),
      Effect.catch((error) => Effect.succeed(failedOf(error))),
      Effect.catchDefect(() => Effect.succeed<Failed>({ reason: "A defect.", permanent: false }))
    )
    if (failed === undefined) {
      yield* queues.complete(owner, event)
      return handled.done.add()
    }
    const { permanent, reason, retryAfterMs } = failed
    const next = nextAttempt(failures, clock.currentTimeMillisUnsafe(), deadline, retryAfterMs)
    if (permanent || next === undefined) return yield* giveUp(event, failed)
    handled.retried.add()
    yield* Effect.logWarning("event will be retried", { event: eventKeyOf(inbound), attempts, reason })
    yield* queues.retry(owner, event, next)
  })
})

export const workersLayer = (platforms: ReadonlyArray<ChatPlatform>, options: WorkOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const queues = yield* SenderQueues
      const owner = randomUUID()
      const attempt = yield* attemptOf(owner, platforms, options)
      const { workers = WORKERS } = options
      const perChat = Math.max(1, Math.floor(workers / 2))
      const inProgress = new Map<number, Fiber.Fiber<void>>()
      let renewedAt = clock.currentTimeMillisUnsafe()

      const stop = Effect.fnUntraced(function* (queue: number) {
        const fiber = inProgress.get(queue)
        inProgress.delete(queue)
        if (fiber !== undefined) yield* Fiber.interrupt(fiber)
      })
      const begin = Effect.fnUntraced(function* (event: ClaimedEvent) {
        // Its lease had passed while the store was away.
        yield* stop(event.queue)
        const started = attempt(event).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.void
              : Effect.logWarning("failed to end an event", { event: eventKeyOf(event.inbound) }, cause)
          ),
          Effect.ensuring(
            Effect.suspend(() => {
              if (inProgress.get(event.queue) === fiber) inProgress.delete(event.queue)
              return queues.wake
            })
          )
        )
        const fiber: Fiber.Fiber<void> = yield* Effect.forkScoped(started)
        inProgress.set(event.queue, fiber)
      })

      const renew = Effect.gen(function* () {
        if (clock.currentTimeMillisUnsafe() - renewedAt < RENEWAL_MS) return
        renewedAt = clock.currentTimeMillisUnsafe()
        const queuesInProgress = [...inProgress.keys()]
        const held = yield* queues.renew(owner, queuesInProgress)
        const lost = queuesInProgress.filter((queue) => !held.has(queue))
        yield* Effect.forEach(lost, stop, { discard: true })
      })
      const round = Effect.gen(function* () {
        yield* renew
        const free = workers - inProgress.size
        if (free > 0)
          yield* Effect.forEach(yield* queues.claim(owner, { free, perChat }), begin, { discard: true })
      }).pipe(
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : Effect.logWarning("failed to claim events", cause)
        )
      )

      yield* Effect.addFinalizer(() => Effect.ignoreCause(queues.release(owner)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(round, Effect.timeoutOption(queues.changed, POLL)))
      )
    })
  )
