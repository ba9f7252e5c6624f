/**
 * Failures of the client with Effect: one tag for each code of the error table (`run_timeout` is `RunTimeout`), and those of the client.
 */
import type { DetailsOf, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { type FailureName, failureName } from "@corral/domain/errors/FailureName"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { Data, Schema } from "effect"
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

/** The request does not fit the contract. It was not sent. */
const invalidRequest = (error: Schema.SchemaError): CorralError => {
  const issues = issuesOf(error.issue)
  const [first] = issues
  const reason = first === undefined ? "" : ` ${first.path === "" ? "" : `${first.path}: `}${first.message}.`
  return new CorralError("schema_validation_failed", {
    message: `The request is not valid and was not sent.${reason}`,
    details: { issues },
    cause: error
  })
}

const corralErrorIn = (error: unknown, wasSent: boolean): CorralError => {
  if (error instanceof CorralError) return error
  if (!wasSent && Schema.isSchemaError(error)) return invalidRequest(error)
  // Effect's client wraps what `fetch` rejects with.
  if (error instanceof Error && error.cause instanceof CorralError) return error.cause
  const message =
    "Can't read the response. The service may have a different version. Update both, then try again."
  return new CorralError("invalid_response", { message, cause: error })
}

/** Failure of an error of a `Transport`, or of a request or a response that does not match its schema. */
export const toClientFailure = (cause: unknown, wasSent = true): AnyRefusal<ErrorCode | ClientErrorCode> => {
  const error = corralErrorIn(cause, wasSent)
  const { code, details, message, requestId, status } = error
  const fields = { _tag: failureName(code), code, message, status, requestId, details, error }
  // The tag is the name of the code, and details have the shape of the code.
  return new Refusal(fields) as unknown as AnyRefusal<ErrorCode | ClientErrorCode>
}
