/**
 * Calls to Feishu's API as the bot, and their failures, through Feishu's library with safe options: it logs nothing, times out after ten seconds, and
 * follows no redirect. Concurrent calls share one request for a token.
 *
 * The library is loaded on first use, because it is larger than the rest of the Gateway. Its errors may contain the token, the secret and the
 * message, so only `toFeishuFailure` reads them.
 *
 * Guarantees: responses are decoded by a schema. A failure contains a status or a code, and nothing of the request, the credentials or the
 * response. An expired token is renewed, and the call is retried once.
 *
 * Does not: retry other failures, or limit the rate of calls.
 */
import { fieldOf } from "@corral/domain/text/JsonObject"
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Data, Effect, Redacted, Schema } from "effect"
import { NotSent, PlatformId, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { retryAfterMsOf } from "../platform/PlatformCalls.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"

const TIMEOUT_MS = 10_000
/** More than any response to the Gateway's calls. */
const MAX_RESPONSE_BYTES = 1_048_576

interface FeishuCredentials {
  readonly appId: string
  readonly appSecret: Redacted.Redacted
  /** Origin of the platform's API. */
  readonly domain: string
  /** Timeout of one call; 10 seconds by default. */
  readonly timeoutMs?: number | undefined
}

/** A CommonJS module. Its `default` has all exports, bundled or not. */
export type LarkModule = (typeof Lark)["default"]

export const loadLark = async (): Promise<LarkModule> => (await import("@larksuiteoapi/node-sdk")).default

/** Logger that drops everything, because the library logs secrets, tokens and messages. `onError` runs for each error. */
export const silentLogger = (onError: () => void = () => undefined): Lark.Logger => {
  const nothing = () => undefined
  return { error: () => onError(), warn: nothing, info: nothing, debug: nothing, trace: nothing }
}

/** HTTP client whose responses are bodies, as the library expects. */
export const makeHttpClient = (
  lark: LarkModule,
  timeout = TIMEOUT_MS,
  bodyOf: (body: unknown) => unknown = (body) => body
): Lark.HttpInstance => {
  const http = lark.defaultHttpInstance.create({
    timeout,
    maxRedirects: 0,
    maxContentLength: MAX_RESPONSE_BYTES
  })
  http.interceptors.response.use((response) => bodyOf(response.data) as typeof response)
  // The library's default is such an instance too, with a narrower type.
  return http as unknown as Lark.HttpInstance
}

/** Feishu's library with safe options. */
interface Sdk {
  readonly client: Lark.Client
  /** Resolves once there is a token; concurrent callers share one request. Returns the argument of `dropToken`. */
  readonly token: () => Promise<object>
  /** Drops a token that the platform rejected, unless it was renewed since. */
  readonly dropToken: (token: object) => void
}

/** Client of one bot. */
const makeSdk = async ({ appId, appSecret, domain, timeoutMs }: FeishuCredentials): Promise<Sdk> => {
  const lark = await loadLark()
  let cache = new lark.DefaultCache()
  const client = new lark.Client({
    appId,
    appSecret: Redacted.value(appSecret),
    domain,
    logger: silentLogger(),
    httpInstance: makeHttpClient(lark, timeoutMs),
    cache: {
      get: (key, options) => cache.get(key, options),
      set: (key, value, expire, options) => cache.set(key, value, expire, options)
    }
  })
  let tokenRequest: Promise<unknown> | undefined
  return {
    client,
    token: async () => {
      const current = cache
      tokenRequest ??= client.tokenManager.getTenantAccessToken().finally(() => {
        tokenRequest = undefined
      })
      await tokenRequest
      return current
    },
    dropToken: (token) => {
      if (token === cache) cache = new lark.DefaultCache()
    }
  }
}

/** The token is no longer valid. */
class StaleToken extends Data.TaggedError("StaleToken") {}

/**
 * Failures of calls to Feishu.
 *
 * Guarantees: a message contains a status or a code, and nothing of the request, the credentials or the response.
 */
type FeishuFailure = NotSent | PlatformUnavailable | StaleToken

const STALE = new Set([99991661, 99991663, 99991668])
/** Rate limits of a chat, a message, the app and the tenant; and a message that is still being sent. */
const BUSY = new Set([230020, 99991400, 11232, 230049])
/** Wrong app id or secret. The operator can correct these while the message waits. */
const CREDENTIALS = new Set([10003, 10014, 10015])

const unavailable = (message: string, retryAfterMs?: number) =>
  new PlatformUnavailable({ message, retryAfterMs })

/** Failure for a code in a response; undefined for 0, which is success. */
const failureOfCode = (code: number): FeishuFailure | undefined => {
  if (code === 0) return undefined
  if (STALE.has(code)) return new StaleToken()
  if (BUSY.has(code)) return unavailable(`The platform limited the rate of calls (${code}).`)
  if (CREDENTIALS.has(code)) return unavailable(`The platform rejected the app's id or secret (${code}).`)
  return new NotSent({ message: `The platform refused the call (${code}).` })
}

/** The code in a response body; undefined for a body that is not the platform's. */
export const responseCodeOf = (body: unknown): number | undefined => {
  const code = fieldOf(body, "code")
  return typeof code === "number" ? code : undefined
}

/** Code from the library's message about a response without a token. */
const tokenCode = (error: unknown): number | undefined => {
  const found = /^failed to get tenant_access_token, code: (\d{1,12})/.exec(String(fieldOf(error, "message")))
  return found === null ? undefined : Number(found[1])
}

/** Seconds until a limit ends, as the platform's gateway or any other server in between says it. */
const resetOf = (headers: unknown): unknown =>
  fieldOf(headers, "x-ogw-ratelimit-reset") ?? fieldOf(headers, "retry-after")

/** Failure for a value that the library threw. */
const toFeishuFailure = (thrown: unknown): FeishuFailure => {
  const response = fieldOf(thrown, "response")
  const status = fieldOf(response, "status")
  const httpStatus = typeof status === "number" ? status : undefined
  // Includes redirects, which are not followed.
  if (httpStatus !== undefined && (httpStatus < 400 || httpStatus >= 500 || httpStatus === 429))
    return unavailable(
      `The platform answers ${httpStatus}.`,
      retryAfterMsOf(resetOf(fieldOf(response, "headers")))
    )
  const code = responseCodeOf(fieldOf(response, "data")) ?? tokenCode(thrown)
  const failure = code === undefined ? undefined : failureOfCode(code)
  if (failure !== undefined) return failure
  return httpStatus === undefined
    ? unavailable("The platform does not answer.")
    : new NotSent({ message: `The platform refused the call (${httpStatus}).` })
}

/** One call with the library's client. The response is decoded. */
export type FeishuCall = <A>(
  response: Schema.Decoder<A>,
  request: (client: Lark.Client) => Promise<unknown>
) => Effect.Effect<A, NotSent | PlatformUnavailable>

const NO_SECRET = "The bot has no app secret: it only listens."

/** Response to a sent message. */
export const SentMessage = Schema.Struct({
  data: Schema.Struct({ message_id: PlatformId, chat_id: PlatformId })
})
export const BotInfo = Schema.Struct({ bot: Schema.Struct({ open_id: PlatformId }) })
export const FeishuUser = Schema.Struct({
  data: Schema.Struct({ user: Schema.Struct({ name: Schema.String }) })
})
export const FeishuTenant = Schema.Struct({
  data: Schema.Struct({ tenant: Schema.Struct({ name: Schema.String }) })
})

/** An id of the platform as a segment of a path. */
export const pathSegment = (id: string): string => encodeURIComponent(id)

export const makeFeishuCall = (
  { appId, appSecret, domain }: Pick<FeishuConfig, "appId" | "appSecret" | "domain">,
  timeoutMs?: number
): FeishuCall => {
  if (appSecret === undefined) return () => Effect.fail(new NotSent({ message: NO_SECRET }))
  let loading: Promise<Sdk> | undefined
  const load = () => (loading ??= makeSdk({ appId, appSecret, domain, timeoutMs }))

  const attempt = Effect.fnUntraced(function* (request: (client: Lark.Client) => Promise<unknown>) {
    const fromPromise = <A>(promise: () => Promise<A>) =>
      Effect.tryPromise({ try: promise, catch: toFeishuFailure })
    const sdk = yield* fromPromise(load)
    const token = yield* fromPromise(sdk.token)
    return yield* fromPromise(() => request(sdk.client)).pipe(
      Effect.flatMap((body) => {
        const failure = failureOfCode(responseCodeOf(body) ?? 0)
        return failure === undefined ? Effect.succeed(body) : Effect.fail(failure)
      }),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          if (failure instanceof StaleToken) sdk.dropToken(token)
        })
      )
    )
  })

  return Effect.fn("FeishuApi.call")(function* <A>(
    response: Schema.Decoder<A>,
    request: (client: Lark.Client) => Promise<unknown>
  ) {
    const rejected = new PlatformUnavailable({ message: "The platform rejected its own token." })
    const body = yield* attempt(request).pipe(
      Effect.catchTag("StaleToken", () => attempt(request)),
      Effect.catchTag("StaleToken", () => Effect.fail(rejected))
    )
    return yield* Effect.mapError(
      Schema.decodeUnknownEffect(response)(body),
      () => new PlatformUnavailable({ message: "The platform's response could not be read." })
    )
  })
}
