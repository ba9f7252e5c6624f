/**
 * Calls to Slack's Web API. What goes wrong is one of the port's two failures, in words of our own: nothing of an answer but Slack's code for
 * it is repeated, and neither a token nor a text is logged.
 *
 * Each call is tried once and ends within 10 seconds. Who called decides about another try.
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
import type { SlackConfig } from "./SlackConfig.ts"

const TIMEOUT_MS = 10_000

/** The client logs addresses, bodies and answers. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => LogLevel.ERROR,
  setName: () => undefined
}

/** Codes of Slack's that are over in a while. */
const passing = new Set([
  "ratelimited",
  "rate_limited",
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org"
])

const unavailable = (message: string) => new PlatformUnavailable({ message })

const failureOf = (error: unknown): NotSent | PlatformUnavailable => {
  if (error instanceof WebAPIRateLimitedError) return unavailable("Slack takes no more for a moment.")
  if (error instanceof WebAPIHTTPError) {
    const { statusCode } = error
    return statusCode >= 500 || statusCode === 408
      ? unavailable(`Slack answered ${statusCode}.`)
      : new NotSent({ message: `Slack answered ${statusCode}.` })
  }
  if (!(error instanceof WebAPIPlatformError)) return unavailable("Slack does not answer.")
  const code = error.data.error
  // What is no JSON, a proxy's page, comes here as a code too.
  if (typeof code !== "string" || !/^[a-z_]{1,60}$/.test(code))
    return unavailable("Slack answered with something else.")
  return passing.has(code)
    ? unavailable(`Slack says ${code}.`)
    : new NotSent({ message: `Slack refused: ${code}.` })
}

const strange = () => unavailable("Slack answered with something else.")

/** One call of a method; the answer is decoded, not believed. */
export type SlackCall = <A>(
  method: string,
  parameters: Readonly<Record<string, unknown>>,
  answer: Schema.Codec<A, unknown>
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
    logger: silent
  })
  return (method, parameters, answer) =>
    Effect.tryPromise({ try: () => client.apiCall(method, parameters), catch: failureOf }).pipe(
      Effect.flatMap((given) => Effect.mapError(Schema.decodeEffect(answer)(given), strange))
    )
}
