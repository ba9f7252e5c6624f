/** What a call to the Hub may come to. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import { Data } from "effect"

/** The Hub does not do it; asking again does not help. `message` is the Hub's own sentence. */
export class HubRefused extends Data.TaggedError("HubRefused")<{
  readonly code: ErrorCode
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}> {}

/** The Hub is not there, or is busy, or knows another Gateway's token: asking again may help. The message names no address and no secret. */
export class HubUnavailable extends Data.TaggedError("HubUnavailable")<{
  readonly message: string
  /** The Hub has refused this as too many requests; asking again earlier does not help. */
  readonly retryAfterMs?: number | undefined
}> {}

export type HubFailed = HubRefused | HubUnavailable
