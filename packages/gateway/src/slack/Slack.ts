/**
 * Slack as a chat platform: signed webhooks, Block Kit, and messages that only one user can see. Those are sent to the click's `response_url`;
 * Slack accepts five within half an hour.
 *
 * Slack has no idempotency key, so a message is sent twice if a response was lost. A card has one language: the reader's, or the configured one.
 *
 * Guarantees: messages are sent to Slack only, although the address of a click comes from a request body. That address needs no token, so it is
 * not logged.
 */
import {
  LogLevel,
  type Logger,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebClient
} from "@slack/web-api"
import { Effect, Option, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import {
  type ChatPlatform,
  type Destination,
  type MessageRef,
  NotSent,
  PlatformId,
  PlatformUnavailable
} from "../platform/ChatPlatform.ts"
import { makeRateHold, retryAfterMsOf } from "../platform/PlatformCalls.ts"
import { SECTION_MAX, toBlocks } from "./Blocks.ts"
import { normalizeSlackEvent, slackChangeOf, slackFormValues } from "./Normalization.ts"
import { BlockActions, escapeMarkup } from "./Payload.ts"
import type { SlackConfig } from "./SlackConfig.ts"
import { makeSlackVerifier } from "./Verification.ts"

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

/** Sends a message that only the user who clicked can see, to the click's `response_url`. `body` is the payload of the click. */
const postEphemeral = (
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

// Calls to Slack's Web API.
//
// Guarantees: a call ends within 10 seconds. A failure contains Slack's error code and nothing else of the response. Tokens and texts are not
// logged.
// A method that Slack limits is not called before the time that Slack says.
// Does not: retry.

const TIMEOUT_MS = 10_000

/** Logger that drops everything, because the client logs addresses, bodies and responses. */
const noLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => LogLevel.ERROR,
  setName: () => undefined
}

/** Slack's error codes for which a retry may help. */
const retryable = new Set([
  "ratelimited",
  "rate_limited",
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org"
])

const unavailable = (message: string, retryAfterMs?: number) =>
  new PlatformUnavailable({ message, retryAfterMs })

const failureOf = (error: unknown): NotSent | PlatformUnavailable => {
  if (error instanceof WebAPIRateLimitedError)
    return unavailable("Slack limited the rate of calls.", retryAfterMsOf(error.retryAfter))
  if (error instanceof WebAPIHTTPError) {
    const { statusCode } = error
    return statusCode >= 500 || statusCode === 408 || statusCode === 429
      ? unavailable(`Slack answered ${statusCode}.`, retryAfterMsOf(error.headers["retry-after"]))
      : new NotSent({ message: `Slack answered ${statusCode}.` })
  }
  if (!(error instanceof WebAPIPlatformError)) return unavailable("Slack does not answer.")
  const code = error.data.error
  // A response that is not JSON, such as a proxy's page, has its text as the code.
  if (typeof code !== "string" || !/^[a-z_]{1,60}$/.test(code))
    return unavailable("Slack's response could not be decoded.")
  return retryable.has(code)
    ? unavailable(`Slack answered ${code}.`)
    : new NotSent({ message: `Slack refused: ${code}.` })
}

const invalidResponse = () => unavailable("Slack's response could not be decoded.")

/** One call of a method. The response is decoded. */
type SlackCall = <A>(
  method: string,
  parameters: Readonly<Record<string, unknown>>,
  response: Schema.Codec<A, unknown>
) => Effect.Effect<A, NotSent | PlatformUnavailable>

const makeSlackCall = ({ botToken, domain }: SlackConfig): SlackCall => {
  if (botToken === undefined)
    return () => Effect.fail(new NotSent({ message: "The bot has no token: it only listens." }))
  const client = new WebClient(Redacted.value(botToken), {
    slackApiUrl: `${domain}/api/`,
    allowAbsoluteUrls: false,
    timeout: TIMEOUT_MS,
    // By default it would retry for half an hour, or wait as long as the response demands.
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: noLogger
  })
  // Slack limits a method, and some methods per channel.
  const held = makeRateHold()
  return (method, parameters, response) =>
    Effect.tryPromise({ try: () => client.apiCall(method, parameters), catch: failureOf }).pipe(
      held(`${method} ${String(parameters["channel"] ?? "")}`),
      Effect.flatMap((body) => Effect.mapError(Schema.decodeEffect(response)(body), invalidResponse))
    )
}

const ID = "slack"

const text = Schema.optionalKey(Schema.NullOr(Schema.String))

const Identity = Schema.Struct({ user_id: PlatformId, team: text })
const Opened = Schema.Struct({ channel: Schema.Struct({ id: PlatformId }) })
const Posted = Schema.Struct({ channel: PlatformId, ts: PlatformId })
const UserInfo = Schema.Struct({
  user: Schema.Struct({
    name: text,
    real_name: text,
    locale: text,
    profile: Schema.optionalKey(Schema.Struct({ display_name: text, real_name: text }))
  })
})

/** Options against markup: no mentions, no previews of links. */
const withoutMarkup = {
  mrkdwn: false,
  parse: "none",
  link_names: false,
  unfurl_links: false,
  unfurl_media: false
}

/** The first name that is not blank. */
const firstOf = (...names: ReadonlyArray<string | null | undefined>): string | undefined =>
  names.find((name): name is string => typeof name === "string" && name.trim() !== "")

/** The platform with one app's bot. */
export const slack = (config: SlackConfig): ChatPlatform => {
  const call = makeSlackCall(config)
  const blocksOf = (card: Parameters<typeof toBlocks>[0]) => toBlocks(card, card.language ?? config.language)

  let cached: typeof Identity.Type | undefined
  const identity = Effect.suspend(() =>
    cached === undefined
      ? Effect.tap(call("auth.test", {}, Identity), (found) => Effect.sync(() => (cached = found)))
      : Effect.succeed(cached)
  )
  const botId =
    config.botUserId === undefined
      ? Effect.mapBoth(identity, {
          onFailure: ({ message }) =>
            new PlatformUnavailable({ message: `The bot's id could not be read. ${message}` }),
          onSuccess: ({ user_id }) => user_id
        })
      : Effect.succeed(config.botUserId)

  const addressOf = Effect.fnUntraced(function* (place: Destination) {
    if (place._tag === "Chat") {
      const { chatId: channel, replyTo, threadId } = place
      // In a direct chat, replies are outside of threads, where people look for them.
      return { channel, thread_ts: threadId ?? (channel.startsWith("D") ? undefined : replyTo) }
    }
    const { channel } = yield* call("conversations.open", { users: place.userId }, Opened)
    return { channel: channel.id }
  })

  return {
    id: ID,
    app: config.appId,
    forms: ["card-actions"],
    verify: makeSlackVerifier(ID, config),
    accepted: { status: 200 },
    // For a click too: Slack ignores the body, and shows the failure to the user who clicked.
    unavailable: () => undefined,
    normalize: (inbound) => normalizeSlackEvent(inbound, botId),
    changeOf: (inbound) =>
      Effect.map(
        Effect.orElseSucceed(botId, () => undefined),
        (bot) => slackChangeOf(inbound, bot)
      ),
    formValues: slackFormValues,
    recognizesKeys: false,
    limits: { textMax: SECTION_MAX, perChat: 1, perMessage: 1, buttons: 20 },
    send: Effect.fn("Slack.send")(function* (place, content) {
      const parts = content._tag === "Text" ? { text: escapeMarkup(content.text) } : blocksOf(content.card)
      const posted = yield* call(
        "chat.postMessage",
        { ...withoutMarkup, ...(yield* addressOf(place)), ...parts },
        Posted
      )
      return { chatId: posted.channel, messageId: posted.ts } satisfies MessageRef
    }),
    update: ({ chatId, messageId }, card) =>
      call(
        "chat.update",
        { channel: chatId, ts: messageId, parse: "none", link_names: false, ...blocksOf(card) },
        Schema.Unknown
      ).pipe(Effect.asVoid),
    sendEphemeral: ({ body }, words) => postEphemeral(body, words, config.domain),
    person: Effect.fn("Slack.person")(
      function* (userId) {
        const { user } = yield* call("users.info", { user: userId, include_locale: true }, UserInfo)
        const { team } = yield* Effect.orElseSucceed(identity, () => ({ team: undefined }))
        return {
          name: firstOf(user.profile?.display_name, user.profile?.real_name, user.real_name, user.name),
          tenantName: firstOf(team),
          language: typeof user.locale !== "string" ? undefined : /^zh/i.test(user.locale) ? "zh" : "en"
        } as const
      },
      Effect.orElseSucceed(() => ({}))
    ),
    language: config.language
  }
}
