/**
 * Calls to Feishu's API as the bot, and their failures.
 *
 * Guarantees: responses are decoded by a schema. A failure contains a status or a code, and nothing of the request, the credentials or the
 * response. An expired token is renewed, and the call is retried once.
 *
 * Does not: retry other failures, or limit the rate of calls.
 */
import { fieldOf } from "@corral/domain/text/JsonObject"
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Data, Effect, Schema } from "effect"
import { NotSent, PlatformId, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { retryAfterMsOf } from "../platform/RateHold.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { type Sdk, makeSdk } from "./Sdk.ts"

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
