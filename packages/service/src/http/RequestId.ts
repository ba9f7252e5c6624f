/** Correlation id that a caller may send. */
import type { RequestId } from "@corral/domain/identity/Ids"
import type { IncomingHttpHeaders } from "node:http"

const shape = /^[A-Za-z0-9._-]{1,128}$/

/** The caller's id, if it is valid. */
export const sentRequestId = (id: unknown): RequestId | undefined =>
  typeof id === "string" && shape.test(id) ? (id as RequestId) : undefined

/** The id that a request carries: the caller's, or the one that the server has set. */
export const requestIdOf = (headers: IncomingHttpHeaders): RequestId | undefined =>
  sentRequestId(headers["x-request-id"])
