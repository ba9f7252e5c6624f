/** Reasons of failures by the HTTP status of a model service, the same for every program. */

export const reasonOfStatus = (
  status: number
): "bad_credentials" | "rate_limited" | "overloaded" | "server_error" | "request_refused" => {
  if (status === 401 || status === 403) return "bad_credentials"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  return status >= 500 ? "server_error" : "request_refused"
}
