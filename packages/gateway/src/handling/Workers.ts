/**
 * Works off the inbox: each turn is one event, normalized and handled at least once. Events of one chat follow each other; a failure is
 * tried again later and later, and in the end the event is a dead letter and the chat goes on.
 *
 * Nothing waits for it: an event was acknowledged before its turn came.
 */
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Cause, Effect, Layer } from "effect"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { Inbox, type KeepFailed } from "../inbox/Inbox.ts"
import { type Turn, turnQueue } from "../inbox/Turns.ts"
import type { ChatPlatform, Inbound } from "../platform/ChatPlatform.ts"
import type { Handler } from "./Handler.ts"
import { keyOf, stamp } from "./Stamp.ts"

export interface WorkOptions {
  readonly handler: Handler
  /** Told of an event that nothing came of, perhaps more than once; what it fails with is its own affair. */
  readonly onDeadLetter?: ((inbound: Inbound, reason: string) => Effect.Effect<void>) | undefined
  /** Events at once, each of another chat. */
  readonly workers?: number | undefined
  /** Of one event. A Gateway that dies at one counts too. 20 take about an hour. */
  readonly maxAttempts?: number | undefined
}

const WORKERS = 16
const MAX_ATTEMPTS = 20
/** Longer is as good as never, and holds up the chat. */
const LONGEST = "2 minutes"

export const layer = (platforms: ReadonlyArray<ChatPlatform>, options: WorkOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const inbox = yield* Inbox
      const turns = yield* turnQueue
      const metrics = yield* CurrentMetrics
      const handled = {
        done: metrics.counter(gatewayMetrics.handled, { outcome: "done" }),
        buried: metrics.counter(gatewayMetrics.handled, { outcome: "buried" }),
        retried: metrics.counter(gatewayMetrics.handled, { outcome: "retried" })
      }
      const { handler, maxAttempts = MAX_ATTEMPTS, onDeadLetter, workers = WORKERS } = options
      const byId = new Map(platforms.map((platform) => [platform.id, platform]))

      const handle = Effect.fnUntraced(function* (inbound: Inbound, position: number) {
        const platform = byId.get(inbound.platform)
        if (platform === undefined) return yield* Effect.die("no platform of this id is set up")
        const draft = yield* platform.normalize(inbound)
        if (draft !== undefined) yield* handler(stamp(draft, inbound, position), inbound)
      })

      const bury = (turn: Turn, inbound: Inbound, attempts: number, reason: string) =>
        Effect.gen(function* () {
          yield* Effect.logError("an event came to nothing", { event: keyOf(inbound), attempts, reason })
          if (onDeadLetter !== undefined) yield* Effect.ignoreCause(onDeadLetter(inbound, reason))
          yield* inbox.bury(turn, { reason, attempts })
          handled.buried.add()
        })

      const take = (turn: Turn, { attempts }: { readonly attempts: number }) =>
        Effect.gen(function* () {
          const inbound = yield* inbox.at(turn)
          if (inbound === undefined) return
          // Whoever had it last died of it, or with it.
          if (attempts > maxAttempts)
            return yield* bury(turn, inbound, attempts - 1, "It was never finished.")
          const failed = yield* handle(inbound, turn.position).pipe(
            Effect.timeoutOrElse({
              duration: LONGEST,
              orElse: () => Effect.succeed({ reason: "It took too long.", permanent: false })
            }),
            Effect.catch((error) =>
              Effect.succeed({
                reason: error.message,
                permanent:
                  error._tag === "NotUnderstood" || (error._tag === "HandlerFailed" && error.permanent)
              })
            ),
            Effect.catchDefect(() => Effect.succeed({ reason: "A defect.", permanent: false }))
          )
          if (failed === undefined) {
            yield* inbox.done(turn)
            return handled.done.add()
          }
          const { permanent, reason } = failed
          if (permanent || attempts >= maxAttempts) return yield* bury(turn, inbound, attempts, reason)
          handled.retried.add()
          yield* Effect.logWarning("an event is tried again", { event: keyOf(inbound), attempts, reason })
          return yield* Effect.fail(new TriedInVain())
        })

      const work = turns.take<void, TriedInVain | KeepFailed, never>(take).pipe(
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : // The queue has it again; its reason was told above, unless the store is not there.
              Cause.squash(cause) instanceof TriedInVain
              ? Effect.void
              : Effect.andThen(
                  Effect.logWarning("a turn could not be ended", cause),
                  Effect.sleep("1 second")
                )
        )
      )
      yield* Effect.forEach(Array.from({ length: workers }), () => Effect.forkScoped(Effect.forever(work)), {
        discard: true
      })
    })
  )

class TriedInVain {
  readonly _tag = "TriedInVain"
}
