/**
 * What only who clicked sees, by the address that came with the click: five times within half an hour. Who knows such an address needs no
 * token, so it vouches for nothing; and it came in a body, so nothing is sent anywhere but to Slack.
 */
import { Effect, Option, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { escaped } from "./Markup.ts"
import { BlockActions } from "./Payload.ts"

const HOOKS = "https://hooks.slack.com"

const asClick = Schema.decodeUnknownOption(Schema.fromJsonString(BlockActions))

const nowhere = () => new NotSent({ message: "The click names no address of Slack's to answer at." })
const unreachable = () => new PlatformUnavailable({ message: "Slack does not answer." })

/** `domain` is the platform's own origin, where it is not Slack's. */
const addressOf = (body: string, domain: string): string | undefined => {
  const given = Option.getOrUndefined(asClick(body))?.response_url
  const url = typeof given === "string" ? URL.parse(given) : null
  const isSlacks = url !== null && (url.origin === HOOKS || url.origin === domain)
  return isSlacks && url.username === "" && url.password === "" ? url.href : undefined
}

/** `body` is the click's. */
export const whisper = (
  body: string,
  text: string,
  domain: string
): Effect.Effect<void, NotSent | PlatformUnavailable> =>
  Effect.gen(function* () {
    const address = addressOf(body, domain)
    if (address === undefined) return yield* nowhere()
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(address), {
      response_type: "ephemeral",
      replace_original: false,
      mrkdwn: false,
      text: escaped(text)
    })
    const { status } = yield* client.execute(request).pipe(
      Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(unreachable()) }),
      // Its message has the address in it.
      Effect.catchTag("HttpClientError", () => Effect.fail(unreachable()))
    )
    if (status >= 500 || status === 429) return yield* unreachable()
    if (status >= 300) return yield* new NotSent({ message: `Slack answered ${status}.` })
  }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // A span would have the address in it.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
  )
