/**
 * Workers that handle pending events. A failed event is retried for up to two minutes. Then it moves to the dead letters, and its sender
 * receives a notice.
 *
 * Guarantees: each event is handled at least once. Up to `workers` events are in progress: up to half of them from one chat, one from one
 * sender. Messages and clicks of a chat have separate places.
 * Does not: acknowledge events. They are acknowledged when they are stored.
 */
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Cause, Clock, Effect, Fiber, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { type ClaimedEvent, SenderQueues } from "../inbox/SenderQueues.ts"
import type { ChatPlatform, Inbound, NotUnderstood, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { eventKeyOf, type Handler, type HandlerFailed, stampEvent } from "./Handler.ts"

/** Time between the first failure and the notice. */
export const PATIENCE_MS = 120_000
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 30_000

/**
 * Time after which an event that began now is not retried. The limit starts with the first failure since the sender's last success: an event that
 * waited behind a failing one has waited too.
 */
export const deadlineOf = (
  { failingSince, inbound }: Pick<ClaimedEvent, "failingSince" | "inbound">,
  beganAt: number,
  patienceMs = PATIENCE_MS
): number => (failingSince === undefined ? beganAt : Math.max(failingSince, inbound.receivedAt)) + patienceMs

/** Time of the next attempt; undefined if there is none. The last attempt is at the deadline. */
export const nextAttempt = (
  failures: number,
  now: number,
  deadline: number,
  retryAfterMs = 0
): number | undefined => {
  if (now >= deadline || now + retryAfterMs > deadline) return undefined
  const delay = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS)
  return Math.min(now + Math.max(delay, retryAfterMs), deadline)
}

export interface WorkOptions {
  readonly handler: Handler
  /** Handles a message that was edited or deleted in the chat. Absent: such events are done. */
  readonly onChange?: ((inbound: Inbound) => Effect.Effect<void, HandlerFailed>) | undefined
  /** Maximum number of events in progress. */
  readonly workers?: number | undefined
  /** Time for retries of an event, in milliseconds. */
  readonly patienceMs?: number | undefined
  /** Maximum number of attempts that ended with a crash of the Gateway. */
  readonly maxCrashes?: number | undefined
}

const WORKERS = 32
const MAX_CRASHES = 3
/** A lease is renewed several times before it expires. */
const RENEWAL_MS = 2_000
/** Maximum delay before another Gateway's changes and due retries are found. */
const POLL = "500 millis"
/** Minimum time for every attempt, including the last one. */
const MIN_ATTEMPT_MS = 10_000

interface AttemptFailure {
  readonly reason: string
  readonly permanent: boolean
  readonly retryAfterMs?: number | undefined
}

const attemptFailure = (error: HandlerFailed | NotUnderstood | PlatformUnavailable): AttemptFailure => ({
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
const makeAttempt = Effect.fnUntraced(function* (
  owner: string,
  platforms: ReadonlyArray<ChatPlatform>,
  { handler, maxCrashes = MAX_CRASHES, onChange = () => Effect.void, patienceMs = PATIENCE_MS }: WorkOptions
) {
  const clock = yield* Clock.Clock
  const queues = yield* SenderQueues
  const handled = yield* countersOf
  const byId = new Map(platforms.map((platform) => [platform.id, platform]))

  const handle = Effect.fnUntraced(function* ({ inbound, position }: ClaimedEvent) {
    const platform = byId.get(inbound.platform)
    if (platform === undefined) return yield* Effect.die("no platform of this id is set up")
    if (inbound.kind === "message_change") return yield* onChange(inbound)
    const draft = yield* platform.normalize(inbound)
    if (draft !== undefined) yield* handler(stampEvent(draft, inbound, position), inbound)
  })

  const giveUp = Effect.fnUntraced(function* (event: ClaimedEvent, { permanent, reason }: AttemptFailure) {
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
    const left = Math.max(deadline - clock.currentTimeMillisUnsafe(), MIN_ATTEMPT_MS)
    const failed = yield* handle(event).pipe(
      Effect.timeoutOrElse({
        duration: `${left} millis`,
        orElse: () => Effect.succeed<AttemptFailure>({ reason: "The attempt timed out.", permanent: false })
      }),
      Effect.catch((error) => Effect.succeed(attemptFailure(error))),
      Effect.catchDefect(() =>
        Effect.succeed<AttemptFailure>({ reason: "The handler failed unexpectedly.", permanent: false })
      )
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
      const attempt = yield* makeAttempt(owner, platforms, options)
      const { workers = WORKERS } = options
      const perChat = Math.max(2, Math.floor(workers / 2))
      const inProgress = new Map<number, Fiber.Fiber<void>>()
      let renewedAt = clock.currentTimeMillisUnsafe()

      const stop = Effect.fnUntraced(function* (queue: number) {
        const fiber = inProgress.get(queue)
        inProgress.delete(queue)
        if (fiber !== undefined) yield* Fiber.interrupt(fiber)
      })
      const begin = Effect.fnUntraced(function* (event: ClaimedEvent) {
        // The lease expired while the database was unavailable.
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
        const renewed = yield* queues.renew(owner, queuesInProgress)
        const lost = queuesInProgress.filter((queue) => !renewed.has(queue))
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
