/**
 * Calls to the platform's API as the bot: with a token that is renewed once where the platform takes it no more, answers that are looked
 * into before they are believed, and failures that say nothing of what was sent.
 *
 * It tries nothing twice but for the token, and keeps no pace.
 */
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Effect, Schema } from "effect"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { PlatformId } from "../platform/PlatformId.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { responseCodeOf, toFeishuFailure, failureOfCode, StaleToken } from "./FeishuFailure.ts"
import { type Sdk, sdkOf } from "./Sdk.ts"

/** One call with the library's client; what it gives is decoded. */
export type FeishuCall = <A>(
  answer: Schema.Decoder<A>,
  ask: (client: Lark.Client) => Promise<unknown>
) => Effect.Effect<A, NotSent | PlatformUnavailable>

const NO_SECRET = "The bot has no app secret: it only listens."

/** Of a message that was sent. */
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

/** Ids are the platform's, but they become parts of a path. */
export const inPath = (id: string): string => encodeURIComponent(id)

export const makeFeishuCall = (
  { appId, appSecret, domain }: Pick<FeishuConfig, "appId" | "appSecret" | "domain">,
  timeoutMs?: number
): FeishuCall => {
  if (appSecret === undefined) return () => Effect.fail(new NotSent({ message: NO_SECRET }))
  let loading: Promise<Sdk> | undefined
  const load = () => (loading ??= sdkOf({ appId, appSecret, domain, timeoutMs }))

  const attempt = Effect.fnUntraced(function* (ask: (client: Lark.Client) => Promise<unknown>) {
    const asking = <A>(promise: () => Promise<A>) =>
      Effect.tryPromise({ try: promise, catch: toFeishuFailure })
    const sdk = yield* asking(load)
    const held = yield* asking(sdk.token)
    const answer = yield* asking(() => ask(sdk.client)).pipe(
      Effect.flatMap((body) => {
        const failure = failureOfCode(responseCodeOf(body) ?? 0)
        return failure === undefined ? Effect.succeed(body) : Effect.fail(failure)
      }),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          if (failure instanceof StaleToken) sdk.forget(held)
        })
      )
    )
    return answer
  })

  return Effect.fnUntraced(function* <A>(
    answer: Schema.Decoder<A>,
    ask: (client: Lark.Client) => Promise<unknown>
  ) {
    const refused = new PlatformUnavailable({ message: "The platform does not take its own token." })
    const body = yield* attempt(ask).pipe(
      Effect.catchTag("StaleToken", () => attempt(ask)),
      Effect.catchTag("StaleToken", () => Effect.fail(refused))
    )
    return yield* Effect.mapError(
      Schema.decodeUnknownEffect(answer)(body),
      () => new PlatformUnavailable({ message: "The platform's answer cannot be read." })
    )
  })
}
