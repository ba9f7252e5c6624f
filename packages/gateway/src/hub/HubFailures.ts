/** Failures of calls to the Hub. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import { Data } from "effect"

/** The Hub refused the call. A retry does not help. `message` is the Hub's message. */
export class HubRefused extends Data.TaggedError("HubRefused")<{
  readonly code: ErrorCode
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}> {}

/** The Hub is unreachable, busy, or has another token. A retry may help. `message` contains no address and no secret. */
export class HubUnavailable extends Data.TaggedError("HubUnavailable")<{
  readonly message: string
  /** Time until a retry may help, if the Hub limited the rate of requests. */
  readonly retryAfterMs?: number | undefined
}> {}

export type HubFailed = HubRefused | HubUnavailable
