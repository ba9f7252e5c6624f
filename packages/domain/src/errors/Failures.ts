/**
 * Failures of services: one class for each code of the error table, such as `RunTimeout` for `run_timeout`.
 *
 * Failures do not depend on HTTP or on a request: a handler converts them to error objects (`withErrorObject`). The caller receives
 * `details` unchanged, so they contain only what the caller may see.
 */
import { Data } from "effect"
import type { YieldableError } from "effect/Cause"
import { errorTable, type DetailsOf, type ErrorCode, type FixedDetails } from "./ErrorTable.ts"
import { type FailureName, failureName } from "./FailureName.ts"

/** Arguments of a failure. `details` are required if the table fixes their shape. `message` replaces the message of the table. */
export type FailureOptions<C extends ErrorCode> = C extends keyof FixedDetails
  ? [options: { readonly message?: string; readonly details: FixedDetails[C] }]
  : [options?: { readonly message?: string; readonly details?: DetailsOf<C> }]

/** Failure with a given code. */
export interface FailureOf<C extends ErrorCode> extends YieldableError {
  readonly _tag: FailureName<C>
  readonly code: C
  readonly message: string
  readonly details?: DetailsOf<C>
}

const failure = <C extends ErrorCode>(code: C): new (...options: FailureOptions<C>) => FailureOf<C> => {
  const name = failureName(code)
  class Failure extends Data.Error<{ readonly message: string; readonly details?: unknown }> {
    readonly _tag = name
    readonly code = code
    override readonly name = name
    constructor(options?: { readonly message?: string; readonly details?: unknown }) {
      super({ message: errorTable[code].message, ...options })
    }
  }
  // `name` is FailureName<C> by construction, and FailureOptions<C> ties the details to the code.
  return Failure as unknown as new (...options: FailureOptions<C>) => FailureOf<C>
}

export class InvalidAgentId extends failure("invalid_agent_id") {}
export class Unauthorized extends failure("unauthorized") {}
export class BudgetExceeded extends failure("budget_exceeded") {}
export class UnauthorizedTarget extends failure("unauthorized_target") {}
export class WorkspaceOutsideAllowlist extends failure("workspace_outside_allowlist") {}
export class PermissionDenied extends failure("permission_denied") {}
export class ApprovalRejected extends failure("approval_rejected") {}
export class BindingRequired extends failure("binding_required") {}
export class NotFound extends failure("not_found") {}
export class MethodNotAllowed extends failure("method_not_allowed") {}
export class Conflict extends failure("conflict") {}
export class RunCancelled extends failure("run_cancelled") {}
export class RunNotCancellable extends failure("run_not_cancellable") {}
export class ApprovalAlreadyResolved extends failure("approval_already_resolved") {}
export class InputAlreadyResolved extends failure("input_already_resolved") {}
export class ChangesUnknown extends failure("changes_unknown") {}
export class ChangesOutdated extends failure("changes_outdated") {}
export class MergeConflict extends failure("merge_conflict") {}
export class RunActive extends failure("run_active") {}
export class IdempotencyConflict extends failure("idempotency_conflict") {}
export class IdempotencyInFlight extends failure("idempotency_in_flight") {}
export class ApprovalExpired extends failure("approval_expired") {}
export class InputExpired extends failure("input_expired") {}
export class PayloadTooLarge extends failure("payload_too_large") {}
export class UnsupportedMediaType extends failure("unsupported_media_type") {}
export class SchemaValidationFailed extends failure("schema_validation_failed") {}
export class RateLimited extends failure("rate_limited") {}
export class Internal extends failure("internal") {}
export class RuntimeUnavailable extends failure("runtime_unavailable") {}
export class TargetOffline extends failure("target_offline") {}
export class Overloaded extends failure("overloaded") {}
export class RunTimeout extends failure("run_timeout") {}
export class WorkUnfinished extends failure("work_unfinished") {}

/** Any failure, distinguished by `code`. */
export type Failure = { readonly [C in ErrorCode]: FailureOf<C> }[ErrorCode]
