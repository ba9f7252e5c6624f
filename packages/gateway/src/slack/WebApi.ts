/**
 * Calls to Slack's Web API.
 *
 * Guarantees: a call ends within 10 seconds. A failure contains Slack's error code and nothing else of the response. Tokens and texts are not
 * logged.
 * A method that Slack limits is not called before the time that Slack says.
 * Does not: retry.
 */
import {
  type Logger,
  LogLevel,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebClient
} from "@slack/web-api"
import { Effect, Redacted, Schema } from "effect"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { makeRateHold, retryAfterMsOf } from "../platform/RateHold.ts"
import type { SlackConfig } from "./SlackConfig.ts"

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
export type SlackCall = <A>(
  method: string,
  parameters: Readonly<Record<string, unknown>>,
  response: Schema.Codec<A, unknown>
) => Effect.Effect<A, NotSent | PlatformUnavailable>

export const makeSlackCall = ({ botToken, domain }: SlackConfig): SlackCall => {
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
