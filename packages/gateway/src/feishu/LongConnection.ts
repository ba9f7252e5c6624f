/**
 * Events over an outbound connection of the bot, for a Gateway without a public address. The app's secret authenticates the connection.
 *
 * Guarantees: an event is acknowledged once it is stored, as with the webhook. The platform sends an unacknowledged event again; a failed
 * click is shown to the person. A lost connection is opened again.
 *
 * The platform sends each event to one of the bot's connections, so several Gateways may have one each.
 */
import { Clock, Deferred, Effect, FiberSet, Redacted, Schema, type Scope } from "effect"
import {
  type Inbound,
  type PlatformResponse,
  PlatformUnavailable,
  type StoreInbound
} from "../platform/ChatPlatform.ts"
import { FeishuEnvelope, inboundKindOf, inboundOf, makeOriginCheck } from "./Verification.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { type LarkModule, loadLark, makeHttpClient, responseCodeOf, silentLogger } from "./FeishuApi.ts"

// One session of the platform's WebSocket library: a connection that the library restores until it gives up.

const HANDSHAKE_MS = 10_000

/** A refusal with a `data` field. Without one, the library fails to parse it and retries forever. */
const withData = (body: unknown): unknown =>
  (responseCodeOf(body) ?? 0) === 0 || typeof body !== "object" ? body : { data: {}, ...body }

interface LongSession {
  readonly platform: string
  readonly config: Pick<FeishuConfig, "appId" | "domain">
  readonly secret: Redacted.Redacted
  readonly pingTimeoutSeconds: number
  /** Handles an event; returns the response that goes back with the acknowledgement. */
  readonly onEvent: (data: unknown) => Effect.Effect<unknown, PlatformUnavailable>
  readonly onConnected: Effect.Effect<void>
}

type Run = (effect: Effect.Effect<unknown>) => void

const openClient = (
  lark: LarkModule,
  { config, onConnected, pingTimeoutSeconds, platform, secret }: LongSession,
  run: Run,
  onGivenUp: (error: PlatformUnavailable) => void
) =>
  new lark.WSClient({
    appId: config.appId,
    appSecret: Redacted.value(secret),
    domain: config.domain,
    logger: silentLogger(() => run(Effect.logWarning("long connection failed", { platform }))),
    httpInstance: makeHttpClient(lark, HANDSHAKE_MS, withData),
    handshakeTimeoutMs: HANDSHAKE_MS,
    wsConfig: { pingTimeout: pingTimeoutSeconds },
    onReady: () => run(onConnected),
    onReconnecting: () => run(Effect.logInfo("long connection lost", { platform })),
    onReconnected: () => run(Effect.logInfo("long connection restored", { platform })),
    onError: (error) => {
      const code = /code=(\d{1,12})/.exec(error.message)?.[1]
      const message =
        code === undefined
          ? "The platform does not answer."
          : `The platform refused the connection (${code}).`
      onGivenUp(new PlatformUnavailable({ message }))
    }
  })

/** Runs until the library gives up. */
const runLongSession = Effect.fnUntraced(function* (session: LongSession) {
  const lark = yield* Effect.promise(loadLark)
  const runPromise = yield* FiberSet.makeRuntimePromise<never, unknown, PlatformUnavailable>()
  const givenUp = yield* Deferred.make<never, PlatformUnavailable>()
  const run: Run = (effect) => void runPromise(effect).catch(() => undefined)
  const dispatcher = new lark.EventDispatcher({ logger: silentLogger() })
  // The event as sent: the library flattens it, and one field would hide another.
  dispatcher.invoke = (data: unknown) => runPromise(session.onEvent(data))
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const client = openClient(lark, session, run, (error) =>
        Deferred.doneUnsafe(givenUp, Effect.fail(error))
      )
      void client.start({ eventDispatcher: dispatcher })
      return client
    }),
    (client) => Effect.sync(() => client.close({ force: true }))
  )
  return yield* Deferred.await(givenUp)
}, Effect.scoped)

export interface ConnectionOptions {
  /** Maximum time until the response to a ping. */
  readonly pingTimeoutSeconds?: number | undefined
}

const PING_TIMEOUT_SECONDS = 10
/** The platform waits 3 seconds. */
const STORE_WITHIN = "2 seconds"
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 60_000

const asEnvelope = Schema.decodeUnknownEffect(FeishuEnvelope)

/** Handler of the events of a connection. It returns the response that goes back with the acknowledgement. */
const makeEventHandler = (platform: string, config: FeishuConfig, unavailable: PlatformResponse) => {
  const checkOrigin = makeOriginCheck(config)

  const storeInTime = (store: StoreInbound, inbound: Inbound) => {
    const late = () => Effect.fail(new PlatformUnavailable({ message: "The event was not stored in time." }))
    const stored = store(inbound).pipe(
      Effect.timeoutOrElse({ duration: STORE_WITHIN, orElse: late }),
      Effect.as(inbound.kind === "card_action" ? {} : undefined)
    )
    return inbound.kind === "card_action"
      ? Effect.catchCause(stored, () => Effect.succeed(unavailable.body))
      : stored
  }

  return Effect.fnUntraced(function* (store: StoreInbound, data: unknown) {
    const envelope = yield* Effect.orElseSucceed(asEnvelope(data), () => undefined)
    const kind = envelope === undefined ? undefined : inboundKindOf(envelope)
    // Acknowledged, because a second delivery would be the same.
    if (envelope === undefined || kind === undefined)
      return yield* Effect.logDebug("an event was ignored", { platform })
    const refused = checkOrigin(envelope)
    if (refused !== undefined)
      return yield* Effect.logInfo("an event was refused", { platform, reason: refused.reason })
    const now = yield* Clock.currentTimeMillis
    return yield* storeInTime(store, inboundOf(platform, kind, envelope, now))
  })
}

/** `unavailable` is the answer to a click that could not be stored. */
export const makeLongConnection = (
  platform: string,
  config: FeishuConfig,
  unavailable: PlatformResponse,
  { pingTimeoutSeconds = PING_TIMEOUT_SECONDS }: ConnectionOptions = {}
) => {
  const handleEvent = makeEventHandler(platform, config, unavailable)

  /** Succeeds when it is connected for the first time, and keeps the connection up while the scope is open. */
  return Effect.fnUntraced(function* (
    store: StoreInbound
  ): Effect.fn.Return<void, PlatformUnavailable, Scope.Scope> {
    const secret = config.appSecret
    if (secret === undefined)
      return yield* new PlatformUnavailable({ message: "A long connection needs the app secret." })
    const ready = yield* Deferred.make<void>()
    let wait = FIRST_WAIT_MS
    const onConnected = Effect.gen(function* () {
      wait = FIRST_WAIT_MS
      yield* Effect.logInfo("long connection opened", { platform })
      yield* Deferred.succeed(ready, undefined)
    })
    const waitBeforeRetry = Effect.fnUntraced(function* ({ message }: PlatformUnavailable) {
      yield* Effect.logWarning("long connection will be retried", { platform, reason: message })
      yield* Effect.sleep(wait)
      wait = Math.min(2 * wait, MAX_WAIT_MS)
    })
    const onEvent = (data: unknown) => handleEvent(store, data)
    const session = { platform, config, secret, pingTimeoutSeconds, onEvent, onConnected }
    yield* Effect.forkScoped(
      Effect.forever(Effect.catchTag(runLongSession(session), "PlatformUnavailable", waitBeforeRetry))
    )
    yield* Deferred.await(ready)
  })
}
