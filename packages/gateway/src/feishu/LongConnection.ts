/**
 * Events over a connection that the bot makes: for who has no address on the internet. What vouches for them is the app's secret, with which
 * the connection was made; they are kept by the same hand as those of the webhook, and acknowledged when they are.
 *
 * One of the bot's connections gets each event, so several Gateways may each have one. What is not acknowledged comes again; a click does
 * not, and who clicked is told. The library connects again after a break; where it gives up, it is begun anew here.
 */
import { Clock, Deferred, Effect, FiberSet, Redacted, Schema, type Scope } from "effect"
import {
  type StoreInbound,
  type Inbound,
  type PlatformAnswer,
  PlatformUnavailable
} from "../platform/ChatPlatform.ts"
import { FeishuEnvelope } from "./Envelope.ts"
import { inboundOf, inboundKindOf, makeOriginCheck } from "./Events.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { codeOf } from "./FeishuFailure.ts"
import { httpOf, type LarkModule, loadLark, silent } from "./Sdk.ts"

export interface ConnectionOptions {
  /** After which a connection that answers no ping is given up. */
  readonly pingTimeoutSeconds?: number | undefined
}

const PING_TIMEOUT_SECONDS = 10
const HANDSHAKE_MS = 10_000
/** Of the 3 seconds that the platform waits. */
const KEEP_WITHIN = "2 seconds"
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

const asEnvelope = Schema.decodeUnknownEffect(FeishuEnvelope)

/** The library stumbles over a refusal without data, and tries for ever. */
const withData = (body: unknown): unknown =>
  (codeOf(body) ?? 0) === 0 || typeof body !== "object" ? body : { data: {}, ...body }

/** `unavailable` is told to who clicked. */
export const connectionOf = (
  platform: string,
  config: FeishuConfig,
  unavailable: PlatformAnswer,
  { pingTimeoutSeconds = PING_TIMEOUT_SECONDS }: ConnectionOptions = {}
) => {
  const strangerOf = makeOriginCheck(config)

  /** Gives the answer that goes back with the acknowledgement. */
  const take = Effect.fnUntraced(function* (ingest: StoreInbound, data: unknown) {
    const envelope = yield* Effect.orElseSucceed(asEnvelope(data), () => undefined)
    const kind = envelope === undefined ? undefined : inboundKindOf(envelope)
    // Acknowledged: it would be no other when it came again.
    if (envelope === undefined || kind === undefined)
      return yield* Effect.logDebug("an event was ignored", { platform })
    const stranger = strangerOf(envelope)
    if (stranger !== undefined)
      return yield* Effect.logInfo("an event was refused", { platform, reason: stranger.reason })
    const now = yield* Clock.currentTimeMillis
    return yield* keep(ingest, inboundOf(platform, kind, envelope, now))
  })

  const keep = (ingest: StoreInbound, inbound: Inbound) => {
    const late = () => Effect.fail(new PlatformUnavailable({ message: "The event was not kept in time." }))
    const kept = ingest(inbound).pipe(
      Effect.timeoutOrElse({ duration: KEEP_WITHIN, orElse: late }),
      Effect.as(inbound.kind === "card_action" ? {} : undefined)
    )
    return inbound.kind === "card_action"
      ? Effect.catchCause(kept, () => Effect.succeed(unavailable.body))
      : kept
  }

  /** Lives until the library gives up. */
  const session = Effect.fnUntraced(function* (
    lark: LarkModule,
    secret: Redacted.Redacted,
    ingest: StoreInbound,
    connected: Effect.Effect<void>
  ) {
    const run = yield* FiberSet.makeRuntimePromise<never, unknown, PlatformUnavailable>()
    const over = yield* Deferred.make<never, PlatformUnavailable>()
    const tell = (effect: Effect.Effect<unknown>) => void run(effect).catch(() => undefined)
    const dispatcher = new lark.EventDispatcher({ logger: silent() })
    // Before the library flattens an event and one field hides another.
    dispatcher.invoke = (data: unknown) => run(take(ingest, data))
    const open = () => {
      const client = new lark.WSClient({
        appId: config.appId,
        appSecret: Redacted.value(secret),
        domain: config.domain,
        logger: silent(() => tell(Effect.logWarning("the long connection has met an error", { platform }))),
        httpInstance: httpOf(lark, HANDSHAKE_MS, withData),
        handshakeTimeoutMs: HANDSHAKE_MS,
        wsConfig: { pingTimeout: pingTimeoutSeconds },
        onReady: () => tell(connected),
        onReconnecting: () => tell(Effect.logInfo("the long connection is broken", { platform })),
        onReconnected: () => tell(Effect.logInfo("the long connection is made again", { platform })),
        onError: (error) => {
          const code = /code=(\d{1,12})/.exec(error.message)?.[1]
          const message =
            code === undefined ? "The platform does not answer." : `The platform has refused it (${code}).`
          Deferred.doneUnsafe(over, Effect.fail(new PlatformUnavailable({ message })))
        }
      })
      void client.start({ eventDispatcher: dispatcher })
      return client
    }
    yield* Effect.acquireRelease(Effect.sync(open), (client) =>
      Effect.sync(() => client.close({ force: true }))
    )
    return yield* Deferred.await(over)
  }, Effect.scoped)

  /** Succeeds when it is first connected, however long that takes; from then on it stays connected while the scope lives. */
  return Effect.fnUntraced(function* (
    ingest: StoreInbound
  ): Effect.fn.Return<void, PlatformUnavailable, Scope.Scope> {
    const secret = config.appSecret
    if (secret === undefined)
      return yield* new PlatformUnavailable({ message: "A long connection needs the app secret." })
    const lark = yield* Effect.promise(loadLark)
    const ready = yield* Deferred.make<void>()
    let wait = FIRST_WAIT_MS
    const connected = Effect.gen(function* () {
      wait = FIRST_WAIT_MS
      yield* Effect.logInfo("the long connection is made", { platform })
      yield* Deferred.succeed(ready, undefined)
    })
    const again = Effect.fnUntraced(function* ({ message }: PlatformUnavailable) {
      yield* Effect.logWarning("the long connection is tried again", { platform, reason: message })
      yield* Effect.sleep(wait)
      wait = Math.min(2 * wait, LONGEST_WAIT_MS)
    })
    const living = session(lark, secret, ingest, connected).pipe(
      Effect.catchTag("PlatformUnavailable", again)
    )
    yield* Effect.forkScoped(Effect.forever(living))
    yield* Deferred.await(ready)
  })
}
