/**
 * What went wrong in a call to the platform, in a sentence that anyone may read: a status or a code, and nothing of what was sent, of what
 * vouched for it, or of what came back.
 */
import { Data } from "effect"
import { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"

/** The token is no longer valid. */
export class StaleToken extends Data.TaggedError("StaleToken") {}

export type FeishuFailure = NotSent | PlatformUnavailable | StaleToken

const STALE = new Set([99991661, 99991663, 99991668])
/** Of a chat, a message, the app, the tenant; and a message whose first sending is not over. */
const BUSY = new Set([230020, 99991400, 11232, 230049])
/** The app's id or secret. Its operator can mend that while the message waits. */
const CREDENTIALS = new Set([10003, 10014, 10015])

const unavailable = (message: string) => new PlatformUnavailable({ message })

/** Of an answer that came, by the platform's code: 0 is none. */
export const failureOfCode = (code: number): FeishuFailure | undefined => {
  if (code === 0) return undefined
  if (STALE.has(code)) return new StaleToken()
  if (BUSY.has(code)) return unavailable(`The platform wants less at once (${code}).`)
  if (CREDENTIALS.has(code))
    return unavailable(`The platform does not take the app's id and secret (${code}).`)
  return new NotSent({ message: `The platform has refused it (${code}).` })
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

/** The code in an answer's body; undefined where it is no answer of the platform's. */
export const responseCodeOf = (body: unknown): number | undefined => {
  const code = field(body, "code")
  return typeof code === "number" ? code : undefined
}

/** The library says it in words where an answer brought no token. */
const tokenCode = (error: unknown): number | undefined => {
  const found = /^failed to get tenant_access_token, code: (\d{1,12})/.exec(String(field(error, "message")))
  return found === null ? undefined : Number(found[1])
}

/** Of whatever the library has thrown. */
export const toFeishuFailure = (thrown: unknown): FeishuFailure => {
  const response = field(thrown, "response")
  const status = field(response, "status")
  const told = typeof status === "number" ? status : undefined
  // A redirection is not followed: who knows where to.
  if (told !== undefined && (told < 400 || told >= 500 || told === 429))
    return unavailable(`The platform answers ${told}.`)
  const code = responseCodeOf(field(response, "data")) ?? tokenCode(thrown)
  const failure = code === undefined ? undefined : failureOfCode(code)
  if (failure !== undefined) return failure
  return told === undefined
    ? unavailable("The platform does not answer.")
    : new NotSent({ message: `The platform has refused it (${told}).` })
}
