/**
 * Failures of the client with Effect: one tag for each code of the error table (`run_timeout` is `RunTimeout`), and those of the client.
 */
import type { DetailsOf, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { type FailureName, failureName } from "@corral/domain/errors/FailureName"
import { Data } from "effect"
import type { YieldableError } from "effect/Cause"
import { type ClientErrorCode, CorralError } from "../http/CorralError.ts"

/** The service refused a request, with a code of the error table. */
export interface RefusalOf<C extends ErrorCode | ClientErrorCode> extends YieldableError {
  readonly _tag: FailureName<C>
  readonly code: C
  readonly message: string
  /** HTTP status, if there is a response. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly details: C extends ErrorCode
    ? DetailsOf<C> | undefined
    : Readonly<Record<string, unknown>> | undefined
  readonly error: CorralError
}

/** Any of the codes, distinguished by `_tag` and by `code`. */
export type AnyRefusal<C extends ErrorCode | ClientErrorCode> = C extends C ? RefusalOf<C> : never

/** Codes with which every endpoint can respond. */
export type CommonCode =
  | "unauthorized"
  | "schema_validation_failed"
  | "not_found"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "internal"
  | "overloaded"

/** Failures that every request and event stream can have. */
export type ClientFailure = AnyRefusal<CommonCode | ClientErrorCode>

/** Failures of an endpoint with these declared error objects. */
export type CallFailure<E> =
  | ClientFailure
  | (E extends { readonly code: infer C extends ErrorCode } ? RefusalOf<C> : never)

/** Failures of an event stream. */
export type StreamFailure = ClientFailure | AnyRefusal<"permission_denied" | "binding_required" | "conflict">

class Refusal extends Data.Error<{
  readonly _tag: string
  readonly code: ErrorCode | ClientErrorCode
  readonly message: string
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly details: Readonly<Record<string, unknown>>
  readonly error: CorralError
}> {}

const corralErrorIn = (error: unknown): CorralError => {
  if (error instanceof CorralError) return error
  // Effect's client wraps what `fetch` rejects with.
  if (error instanceof Error && error.cause instanceof CorralError) return error.cause
  const message =
    "Can't read the response. The service may have a different version. Update both, then try again."
  return new CorralError("invalid_response", { message, cause: error })
}

/** Failure of an error of a `Transport`, or of a response that does not match its schema. */
export const toClientFailure = (cause: unknown): AnyRefusal<ErrorCode | ClientErrorCode> => {
  const error = corralErrorIn(cause)
  const { code, details, message, requestId, status } = error
  const fields = { _tag: failureName(code), code, message, status, requestId, details, error }
  // The tag is the name of the code, and details have the shape of the code.
  return new Refusal(fields) as unknown as AnyRefusal<ErrorCode | ClientErrorCode>
}
