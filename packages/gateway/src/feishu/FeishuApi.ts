/**
 * Calls to Feishu's API as the bot.
 *
 * Guarantees: responses are decoded by a schema, and failures contain nothing of the request. An expired token is renewed, and the call is
 * retried once.
 * Does not: retry other failures, or limit the rate of calls.
 */
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Effect, Schema } from "effect"
import { NotSent, PlatformId, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { responseCodeOf, toFeishuFailure, failureOfCode, StaleToken } from "./FeishuFailure.ts"
import { makeSdk, type Sdk } from "./Sdk.ts"

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
