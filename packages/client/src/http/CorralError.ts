/**
 * Failure of a request or an event stream: an error object of the service, or the reason why there is none.
 *
 * Guarantees: `code` is stable, `message` is for people, `details` are those of the service. Does not contain a token.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"

/**
 * Codes beyond the error table. `unreachable`: the service did not respond, or another program did. `replay_gap`: retention has deleted the
 * next events of the run; the run still has its outcome. `invalid_response`: the response does not match the contract of this version.
 */
export type ClientErrorCode = "unreachable" | "replay_gap" | "invalid_response"

export interface CorralErrorOptions {
  readonly message: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly cause?: unknown
}

export class CorralError extends Error {
  readonly code: ErrorCode | ClientErrorCode
  /** HTTP status, if there is a response. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode | ClientErrorCode,
    { cause, details, message, requestId, status }: CorralErrorOptions
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = "CorralError"
    this.code = code
    this.status = status
    this.requestId = requestId
    this.details = details ?? {}
  }

  /** Whether the same request can succeed later. */
  get isTransient(): boolean {
    return (
      this.code === "unreachable" ||
      this.code === "rate_limited" ||
      this.code === "idempotency_in_flight" ||
      (this.status ?? 0) >= 500
    )
  }
}

/** Error of a response that is not a success. `text` is its body. */
export const errorOfResponse = (status: number, text: string): CorralError => {
  try {
    const { code, details, message, requestId } = JSON.parse(text)
    if (typeof code === "string" && typeof message === "string")
      return details?.reason === "replay_gap"
        ? new CorralError("replay_gap", { message, status, requestId, details })
        : // A later version of the service may have further codes. Readers show their message.
          new CorralError(code as ErrorCode, { message, status, requestId, details })
  } catch {
    // Not an error object: a proxy or another program responded.
  }
  return new CorralError("unreachable", {
    message: `The server responded with status ${status} and no error message.`,
    status
  })
}
