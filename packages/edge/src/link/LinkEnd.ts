/** How a link ended, told by what its calls failed with and how its socket closed. */
import type { LinkFailure } from "@corral/domain/EdgeLink"
import { Data } from "effect"
import type { Closed } from "./LinkSocket.ts"

export class LinkEnd extends Data.TaggedError("LinkEnd")<{
  /**
   * `fenced`: a newer link has taken the device over. `unauthorized`: the Hub does not take the proof. `stopped`: the Hub stops, and
   * another may be there. `broken`: anything else.
   */
  readonly why: "fenced" | "unauthorized" | "stopped" | "broken"
  readonly message: string
  /** The Hub has acknowledged something over it. */
  readonly useful: boolean
}> {}

/** Close codes of a Hub: of RFC 6455 where it stops, and its own. */
const FENCED = 4409
const STOPS = [1001, 1012]

export const endOfClose = ({ code, reason }: Closed): Pick<LinkEnd, "why" | "message"> => {
  if (code === FENCED) return { why: "fenced", message: "a newer link has taken this device over" }
  if (STOPS.includes(code)) return { why: "stopped", message: "the Hub stops" }
  return { why: "broken", message: reason === "" ? `the Hub closed it (${code})` : oneLine(reason) }
}

/** What a call was refused with; only a proof is refused for good. */
export const endOfFailure = (
  { code, message }: LinkFailure,
  proving: boolean
): Pick<LinkEnd, "why" | "message"> => ({
  why: code === "conflict" ? "fenced" : code === "unauthorized" && proving ? "unauthorized" : "broken",
  message: oneLine(message)
})

/** The other side's words go into a log. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 300)
