/**
 * Codes of errors: the HTTP status and the default message of each, and when a retry can succeed.
 *
 * Plain data, for clients that need no schemas. Does not: contain `replay_gap`, which is a close code of WebSockets (`StreamEnd`).
 */

/** Status and default message of each code. Codes are stable; messages are for people. */
export const errorTable = {
  invalid_agent_id: { status: 400, message: "There is no agent with this id." },
  unauthorized: { status: 401, message: "Sign in first." },
  budget_exceeded: { status: 402, message: "The budget is used up." },
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
  changes_outdated: { status: 409, message: "These changes are no longer what you saw. Load them again." },
  merge_conflict: { status: 409, message: "The workspace has other changes at the same place." },
  run_active: { status: 409, message: "A run is still working on these changes. Wait until it has ended." },
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
