/**
 * Error table: the HTTP status and the default message of each error code, and the response schemas derived from it.
 *
 * Does not: contain `replay_gap`, which is a close code of WebSockets (`StreamEnd`).
 */
import { Schema } from "effect"
import { ApprovalState } from "../approval/Approval.ts"
import { ApprovalId, InputRequestId, RequestId } from "../identity/Ids.ts"
import { InputState } from "../input/InputRequest.ts"
import { UnknownChanges } from "../changes/UnknownChanges.ts"

/** Status and default message of each code. Codes are stable; messages are for people. */
export const errorTable = {
  invalid_agent_id: { status: 400, message: "There is no agent with this id." },
  unauthorized: { status: 401, message: "Sign in first." },
  unauthorized_target: { status: 403, message: "You may not use this target." },
  workspace_outside_allowlist: { status: 403, message: "The workspace is not on this Edge's allowlist." },
  permission_denied: { status: 403, message: "You may not do this." },
  approval_rejected: { status: 403, message: "The action was not approved." },
  binding_required: { status: 403, message: "Link your chat account to your sign-in first." },
  not_found: { status: 404, message: "This resource does not exist, or you may not see it." },
  method_not_allowed: { status: 405, message: "This address does not support this method." },
  conflict: { status: 409, message: "Someone changed this in the meantime." },
  run_cancelled: { status: 409, message: "The run was cancelled." },
  run_not_cancellable: { status: 409, message: "The run has already ended." },
  approval_already_resolved: { status: 409, message: "Someone has already decided this." },
  input_already_resolved: { status: 409, message: "This question is no longer open." },
  changes_unknown: { status: 409, message: "The changes of this run are unknown." },
  idempotency_conflict: { status: 409, message: "This idempotency key was used for another request." },
  idempotency_in_flight: {
    status: 409,
    message: "A request with this idempotency key is still in progress."
  },
  approval_expired: { status: 410, message: "This approval has expired." },
  input_expired: { status: 410, message: "This question has expired." },
  payload_too_large: { status: 413, message: "The request is too large." },
  unsupported_media_type: { status: 415, message: "Send the body as application/json." },
  schema_validation_failed: { status: 422, message: "Some fields are not valid." },
  rate_limited: { status: 429, message: "Too many requests. Try again shortly." },
  internal: { status: 500, message: "Something went wrong on our side." },
  runtime_unavailable: { status: 503, message: "The agent's program is missing or not signed in." },
  target_offline: { status: 503, message: "The target is offline." },
  overloaded: { status: 503, message: "The service is busy. Try again shortly." },
  run_timeout: { status: 504, message: "The run exceeded its timeout." },
  work_unfinished: { status: 504, message: "The run ended before its background work was done." }
} as const satisfies Record<string, { readonly status: number; readonly message: string }>

export type ErrorCode = keyof typeof errorTable
export const errorCodes = Object.keys(errorTable) as ReadonlyArray<ErrorCode>
/** `Retry-After` header in seconds, for errors after which a retry can succeed. `retryAfterSeconds` in the details overrides it. */
export const retryAfterSeconds: { readonly [C in ErrorCode]?: number } = {
  idempotency_in_flight: 1,
  rate_limited: 5,
  target_offline: 15,
  overloaded: 1
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

/** One invalid field: its path (`input.text`, empty for the whole value) and the expected value. Never contains the value that was sent. */
export const ValidationIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type ValidationIssue = typeof ValidationIssue.Type

const approvalDetails = Schema.Struct({ approvalId: ApprovalId, state: ApprovalState })
const inputDetails = Schema.Struct({
  inputId: InputRequestId,
  state: InputState,
  answeredBy: Schema.optionalKey(Schema.String)
})

/** Codes whose `details` have a fixed shape. Details of other codes are any object that the caller may see. */
const fixedDetails = {
  schema_validation_failed: Schema.Struct({ issues: Schema.Array(ValidationIssue) }),
  target_offline: Schema.Struct({
    targetId: Schema.String,
    lastSeenAt: Schema.optionalKey(Schema.String),
    /** The command was sent and may have been executed: the run's events show whether. Absent if it was not executed. */
    outcome: Schema.optionalKey(Schema.Literal("unknown"))
  }),
  approval_already_resolved: approvalDetails,
  approval_expired: approvalDetails,
  input_already_resolved: inputDetails,
  input_expired: inputDetails,
  changes_unknown: UnknownChanges
} as const

const freeDetails = Schema.Record(Schema.String, Schema.Unknown)

export type FixedDetails = { readonly [C in keyof typeof fixedDetails]: (typeof fixedDetails)[C]["Type"] }
type DetailsSchema<C extends ErrorCode> = C extends keyof typeof fixedDetails
  ? (typeof fixedDetails)[C]
  : typeof freeDetails
export type DetailsOf<C extends ErrorCode> = DetailsSchema<C>["Type"]

const errorObject = <Code extends Schema.Top, Details extends Schema.Top>(code: Code, details: Details) =>
  Schema.Struct({
    code,
    message: Schema.String,
    /** Correlation id, equal to the `X-Request-Id` header. */
    requestId: RequestId,
    details: Schema.optionalKey(details)
  })

/** Error object of any code, for clients. */
export const ErrorObject = errorObject(Schema.String, freeDetails)
export type ErrorObject = typeof ErrorObject.Type

/** Response schema of one code. `code` is a literal, and the annotation `httpApiStatus` has the status. */
export type ErrorResponse<C extends ErrorCode> = C extends ErrorCode
  ? ReturnType<typeof errorObject<Schema.Literal<C>, DetailsSchema<C>>>
  : never
export type ErrorObjectOf<C extends ErrorCode> = ErrorResponse<C>["Type"]

const response = (code: ErrorCode) =>
  errorObject(
    Schema.Literal(code),
    code in fixedDetails ? fixedDetails[code as keyof FixedDetails] : freeDetails
  ).annotate({
    identifier: `Error_${code}`,
    description: errorTable[code].message,
    httpApiStatus: errorTable[code].status
  })

const responseByCode = new Map(errorCodes.map((code) => [code, response(code)]))

/** Response schemas of the codes that an endpoint can fail with, for its `error`. */
export const responses = <const Codes extends ReadonlyArray<ErrorCode>>(
  ...codes: Codes
): ReadonlyArray<ErrorResponse<Codes[number]>> =>
  // Every code has its schema in the map; the literal of each is its key.
  codes.map((code) => responseByCode.get(code)) as unknown as ReadonlyArray<ErrorResponse<Codes[number]>>

/** Failure with a code of the error table. The failures of `Failures` implement it. */
export interface Coded<C extends ErrorCode> {
  readonly code: C
  readonly message: string
  readonly details?: DetailsOf<C> | undefined
}

/** Body of an error response: exactly `{code, message, requestId, details?}`. */
export const toErrorObject = <C extends ErrorCode>(
  failure: Coded<C>,
  requestId: RequestId
): ErrorObjectOf<C> => {
  const { code, message, details } = failure
  const fields = { code, message, requestId, ...(details === undefined ? {} : { details }) }
  // `Coded<C>` ties the details to the code; TypeScript does not follow the conditional type.
  return fields as unknown as ErrorObjectOf<C>
}
