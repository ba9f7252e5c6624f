/** Ping and stall times of event streams, in milliseconds. The defaults are the contract's; a service may set shorter ones. */
import { PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import { Context } from "effect"

export interface StreamTimesOptions {
  /** Time between pings, and between comments of a quiet `text/event-stream`. */
  readonly pingEveryMs: number
  /** Time after which a reader that takes nothing from a full socket is closed. */
  readonly stalledAfterMs: number
}

export const defaultStreamTimes: StreamTimesOptions = {
  pingEveryMs: PING_EVERY_SECONDS * 1_000,
  stalledAfterMs: STALLED_AFTER_SECONDS * 1_000
}

export const StreamTimes = Context.Reference<StreamTimesOptions>("corral/service/StreamTimes", {
  defaultValue: () => defaultStreamTimes
})
