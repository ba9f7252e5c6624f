/** Error table: the codes of `ErrorCodes.ts` with the shapes of their details, and the response schemas derived from both. */
import { Schema } from "effect"
import { ApprovalState } from "../approval/Approval.ts"
import { ApprovalId, InputRequestId, RequestId } from "../identity/Ids.ts"
import { InputState } from "../input/InputRequest.ts"
import { UnknownChanges } from "../changes/UnknownChanges.ts"
import { type ErrorCode, errorCodes, errorTable } from "./ErrorCodes.ts"

export { type ErrorCode, errorCodes, errorTable, isErrorCode, retryAfterSeconds } from "./ErrorCodes.ts"

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
