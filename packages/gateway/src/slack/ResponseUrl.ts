/**
 * Messages that only the user who clicked can see, sent to the click's `response_url`. Slack accepts five within half an hour.
 *
 * Guarantees: messages are sent to Slack only, although the address comes from a request body. The address needs no token, so it is not
 * logged.
 */
import { Effect, Option, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { retryAfterMsOf } from "../platform/RateHold.ts"
import { escapeMarkup } from "./Markup.ts"
import { BlockActions } from "./Payload.ts"

const HOOKS = "https://hooks.slack.com"

const asClick = Schema.decodeUnknownOption(Schema.fromJsonString(BlockActions))

const noAddress = () => new NotSent({ message: "The click has no response address of Slack." })
const unreachable = (retryAfterMs?: number) =>
  new PlatformUnavailable({ message: "Slack does not answer.", retryAfterMs })

/** `domain` is the configured origin of the platform's API. */
const addressOf = (body: string, domain: string): string | undefined => {
  const address = Option.getOrUndefined(asClick(body))?.response_url
  const url = typeof address === "string" ? URL.parse(address) : null
  const isAllowed = url !== null && (url.origin === HOOKS || url.origin === domain)
  return isAllowed && url.username === "" && url.password === "" ? url.href : undefined
}

/** `body` is the payload of the click. */
export const postEphemeral = (
  body: string,
  text: string,
  domain: string
): Effect.Effect<void, NotSent | PlatformUnavailable> =>
  Effect.gen(function* () {
    const address = addressOf(body, domain)
    if (address === undefined) return yield* noAddress()
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(address), {
      response_type: "ephemeral",
      replace_original: false,
      mrkdwn: false,
      text: escapeMarkup(text)
    })
    const { headers, status } = yield* client.execute(request).pipe(
      Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(unreachable()) }),
      // The error's message contains the address.
      Effect.catchTag("HttpClientError", () => Effect.fail(unreachable()))
    )
    if (status >= 500 || status === 429) return yield* unreachable(retryAfterMsOf(headers["retry-after"]))
    if (status >= 300) return yield* new NotSent({ message: `Slack answered ${status}.` })
  }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // A span would contain the address.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
  )
