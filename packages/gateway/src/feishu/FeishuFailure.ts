/**
 * Failures of calls to Feishu.
 *
 * Guarantees: a message contains a status or a code, and nothing of the request, the credentials or the response.
 */
import { fieldOf } from "@corral/domain/text/JsonObject"
import { Data } from "effect"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { retryAfterMsOf } from "../platform/RateHold.ts"

/** The token is no longer valid. */
export class StaleToken extends Data.TaggedError("StaleToken") {}

export type FeishuFailure = NotSent | PlatformUnavailable | StaleToken

const STALE = new Set([99991661, 99991663, 99991668])
/** Rate limits of a chat, a message, the app and the tenant; and a message that is still being sent. */
const BUSY = new Set([230020, 99991400, 11232, 230049])
/** Wrong app id or secret. The operator can correct these while the message waits. */
const CREDENTIALS = new Set([10003, 10014, 10015])

const unavailable = (message: string, retryAfterMs?: number) =>
  new PlatformUnavailable({ message, retryAfterMs })

/** Failure for a code in a response; undefined for 0, which is success. */
export const failureOfCode = (code: number): FeishuFailure | undefined => {
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
export const toFeishuFailure = (thrown: unknown): FeishuFailure => {
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
