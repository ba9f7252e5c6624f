/** One session of the platform's WebSocket library: a connection that the library restores until it gives up. */
import { Deferred, Effect, FiberSet, Redacted } from "effect"
import { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { responseCodeOf } from "./FeishuFailure.ts"
import { type LarkModule, loadLark, makeHttpClient, silentLogger } from "./Sdk.ts"

const HANDSHAKE_MS = 10_000

/** A refusal with a `data` field. Without one, the library fails to parse it and retries forever. */
const withData = (body: unknown): unknown =>
  (responseCodeOf(body) ?? 0) === 0 || typeof body !== "object" ? body : { data: {}, ...body }

export interface LongSession {
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
export const runLongSession = Effect.fnUntraced(function* (session: LongSession) {
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
