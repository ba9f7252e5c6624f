/** Reason for the end of a link, from its failed calls and its socket's close code. */
import { firstCharacters } from "@corral/domain/text/Cut"
import { LinkFailure } from "@corral/domain/link/EdgeLink"
import { Data, Effect, Schema } from "effect"
import { RpcClientError } from "effect/rpc/RpcClientError"
import type { LinkClosed } from "./LinkSocket.ts"

export class LinkEnd extends Data.TaggedError("LinkEnd")<{
  /**
   * `fenced`: another Edge connected as the device. `unauthorized`: the Hub rejects the proof. `stopped`: the Hub stops, and another may be
   * available. `broken`: any other reason.
   */
  readonly why: "fenced" | "unauthorized" | "stopped" | "broken"
  readonly message: string
  /** Whether the Hub acknowledged an event over the link. */
  readonly useful: boolean
}> {}

/** Ends the link because of the Hub's behaviour. */
export const brokenLink = (message: string): Effect.Effect<never, LinkEnd> =>
  Effect.fail(new LinkEnd({ why: "broken", message, useful: false }))

/** Close codes of a Hub: of RFC 6455 when it stops, and the Hub's own. */
const FENCED = 4409
const STOPS = [1001, 1012]

export const endOfClose = ({ code, reason }: LinkClosed): Pick<LinkEnd, "why" | "message"> => {
  if (code === FENCED) return { why: "fenced", message: "a newer link has taken this device over" }
  if (STOPS.includes(code)) return { why: "stopped", message: "the Hub stops" }
  return { why: "broken", message: reason === "" ? `the Hub closed it (${code})` : oneLine(reason) }
}

const isFailure = Schema.is(LinkFailure)

/**
 * Refusal of a call, if `error` is one. `unknown`, because a Hub can send a frame that fails all calls with any JSON value, which the library
 * does not decode.
 */
export const failureOf = (error: unknown): LinkFailure | undefined =>
  isFailure(error) ? { code: error.code, message: oneLine(error.message) } : undefined

/** End of a link because of a failed call. */
export const endOfError = (error: unknown, proving: boolean): LinkEnd => {
  if (error instanceof LinkEnd) return error
  const failure = failureOf(error)
  if (failure !== undefined) return new LinkEnd({ ...endOfFailure(failure, proving), useful: false })
  if (!(error instanceof RpcClientError))
    return new LinkEnd({ why: "broken", message: "the Hub sent an invalid answer", useful: false })
  const { reason } = error
  if (reason._tag === "SocketCloseError")
    return new LinkEnd({
      ...endOfClose({ code: reason.code, reason: reason.closeReason ?? "" }),
      useful: false
    })
  return new LinkEnd({ why: "broken", message: "the Hub is not reached", useful: false })
}

/** Refusal code of a call. Only the refusal of a proof is final. */
const endOfFailure = (
  { code, message }: LinkFailure,
  proving: boolean
): Pick<LinkEnd, "why" | "message"> => ({
  why: code === "conflict" ? "fenced" : code === "unauthorized" && proving ? "unauthorized" : "broken",
  message: oneLine(message)
})

/** Text of the Hub, for the log. */
const oneLine = (text: string): string =>
  firstCharacters(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "), 300)
