/**
 * The one table of refusals: code → HTTP status and the sentence a person reads.
 *
 * Owns the codes, the error object on the wire and the response schemas derived from them. `replay_gap` is not here: it is a WebSocket
 * close (`EventStream`), never an HTTP answer.
 */
import { Schema } from "effect"
import { ApprovalState } from "../approval/Approval.ts"
import { ApprovalId, RequestId } from "../identity/Ids.ts"

export const errorTable = {
  invalid_agent_id: { status: 400, message: "There is no agent with this id." },
  unauthorized: { status: 401, message: "Sign in first." },
  unauthorized_target: { status: 403, message: "This session may not use that target." },
  workspace_outside_allowlist: { status: 403, message: "The workspace is not on this Edge's allowlist." },
  permission_denied: { status: 403, message: "You may not do this." },
  approval_rejected: { status: 403, message: "The action was not approved." },
  binding_required: { status: 403, message: "Link your chat account to your sign-in first." },
  not_found: { status: 404, message: "There is nothing here." },
  method_not_allowed: { status: 405, message: "This address does not take that method." },
  conflict: { status: 409, message: "Someone changed this in the meantime." },
  run_cancelled: { status: 409, message: "The run was cancelled." },
  run_not_cancellable: { status: 409, message: "The run has already ended." },
  approval_already_resolved: { status: 409, message: "Someone has already decided this." },
  idempotency_conflict: { status: 409, message: "This idempotency key was used for another request." },
  idempotency_in_flight: {
    status: 409,
    message: "A request with this idempotency key is still in progress."
  },
  approval_expired: { status: 410, message: "This approval has expired." },
  payload_too_large: { status: 413, message: "The request is too large." },
  unsupported_media_type: { status: 415, message: "Send the body as application/json." },
  schema_validation_failed: { status: 422, message: "Some fields are not valid." },
  rate_limited: { status: 429, message: "Too many requests. Try again shortly." },
  internal: { status: 500, message: "Something went wrong on our side." },
  runtime_unavailable: { status: 503, message: "The agent's program is missing or not signed in." },
  target_offline: { status: 503, message: "The target is offline." },
  overloaded: { status: 503, message: "The service is busy. Try again shortly." },
  run_timeout: { status: 504, message: "The run exceeded its timeout." }
} as const satisfies Record<string, { readonly status: number; readonly message: string }>

export type ErrorCode = keyof typeof errorTable
export const errorCodes = Object.keys(errorTable) as ReadonlyArray<ErrorCode>
/** Seconds after which the same request may fare better: the `Retry-After` header, unless the details say `retryAfterSeconds`. */
export const retryAfterSeconds: { readonly [C in ErrorCode]?: number } = {
  idempotency_in_flight: 1,
  rate_limited: 5,
  target_offline: 15,
  overloaded: 1
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

/** One field that does not fit: where (`input.text`, empty for the whole) and what was expected; never what was sent. */
export const ValidationIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type ValidationIssue = typeof ValidationIssue.Type

const approvalDetails = Schema.Struct({ approvalId: ApprovalId, state: ApprovalState })

/** Codes whose `details` have a fixed shape; all others may carry any object that the caller may see. */
const fixedDetails = {
  schema_validation_failed: Schema.Struct({ issues: Schema.Array(ValidationIssue) }),
  target_offline: Schema.Struct({
    targetId: Schema.String,
    lastSeenAt: Schema.optionalKey(Schema.String),
    /** It was sent and may have been done: the run's events will tell. Absent where it surely was not. */
    outcome: Schema.optionalKey(Schema.Literal("unknown"))
  }),
  approval_already_resolved: approvalDetails,
  approval_expired: approvalDetails
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

/** The error object as a client may read it, whatever the code. */
export const ErrorObject = errorObject(Schema.String, freeDetails)
export type ErrorObject = typeof ErrorObject.Type

/** The wire schema of one code: its `code` is a literal, its status an `httpApiStatus` annotation. */
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

/** What an endpoint's `error` takes: one schema per code it may refuse with. */
export const responses = <const Codes extends ReadonlyArray<ErrorCode>>(
  ...codes: Codes
): ReadonlyArray<ErrorResponse<Codes[number]>> =>
  // Every code has its schema in the map; the literal of each is its key.
  codes.map((code) => responseByCode.get(code)) as unknown as ReadonlyArray<ErrorResponse<Codes[number]>>

/** What `toErrorObject` needs of a failure. The failures of `Failures` are such. */
export interface Coded<C extends ErrorCode> {
  readonly code: C
  readonly message: string
  readonly details?: DetailsOf<C> | undefined
}

/** The body of a refusal: exactly `{code, message, requestId, details?}`. */
export const toErrorObject = <C extends ErrorCode>(
  failure: Coded<C>,
  requestId: RequestId
): ErrorObjectOf<C> => {
  const { code, message, details } = failure
  // `Coded<C>` ties the details to the code; TypeScript does not follow the conditional type.
  return {
    code,
    message,
    requestId,
    ...(details === undefined ? {} : { details })
  } as unknown as ErrorObjectOf<C>
}
