/**
 * Refusal of a request before the routes, or of an upgrade, also as a response of an Effect handler, after which the connection closes. Status,
 * error object and headers are the same as those of handlers.
 */
import {
  type Coded,
  type ErrorCode,
  errorTable,
  retryAfterSeconds,
  toErrorObject
} from "@corral/domain/errors/ErrorTable"
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import type { RequestId } from "@corral/domain/identity/Ids"
import { MAX_DROPPED_BYTES } from "@corral/domain/session/AttachmentRules"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

const CONTRACT_VERSION = "2026-06-09"

/** Headers of every response, refusals included. */
export const standardHeaders = (requestId: RequestId): Record<string, string> => ({
  "X-Request-Id": requestId,
  "X-Contract-Version": CONTRACT_VERSION,
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff"
})

export interface HttpRefusal {
  readonly code: ErrorCode
  readonly message?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Methods of the path, with `method_not_allowed`. */
  readonly allow?: ReadonlyArray<string> | undefined
}

/** Status and JSON body of a refusal. */
export const refusalBody = (
  refusal: HttpRefusal,
  requestId: RequestId
): { readonly status: number; readonly body: string } => {
  const { status, message } = errorTable[refusal.code]
  // The details of a refusal depend on its code alone, never on the caller.
  const coded = {
    code: refusal.code,
    message: refusal.message ?? message,
    details: refusal.details
  } as Coded<ErrorCode>
  return { status, body: JSON.stringify(toErrorObject(coded, requestId)) }
}

/** Headers that a refusal needs. */
export const headersOfRefusal = ({ allow, code }: HttpRefusal): Record<string, string> => ({
  ...(allow === undefined ? {} : { Allow: allow.join(", ") }),
  ...(code === "unauthorized" ? { "WWW-Authenticate": "Bearer" } : {}),
  ...(retryAfterSeconds[code] === undefined ? {} : { "Retry-After": String(retryAfterSeconds[code]) })
})

/** Headers of a refusal and its body, next to the standard ones. */
export const refusalHeaders = (refusal: HttpRefusal, body: string): Record<string, string> => ({
  "Content-Type": "application/json",
  "Content-Length": String(Buffer.byteLength(body)),
  ...headersOfRefusal(refusal)
})

/**
 * Time for which the rest of a body is read and dropped: as long as any request may take. Closing the connection earlier would lose the response
 * for a client that sends more before it reads.
 */
const LINGER_MS = STALLED_AFTER_SECONDS * 1_000

/** Sends the refusal and closes the connection, after the rest of an unread body. */
export const refuseRequest = (response: ServerResponse, refusal: HttpRefusal, requestId: RequestId): void => {
  const { status, body } = refusalBody(refusal, requestId)
  response.writeHead(status, { ...refusalHeaders(refusal, body), Connection: "close" })
  response.write(body)
  const request = response.req
  let left = MAX_DROPPED_BYTES
  const drop = () => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(drop, LINGER_MS).unref()
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) drop()
  })
  request.once("end", drop).once("close", drop)
}

export const refuseUpgrade = (socket: Duplex, refusal: HttpRefusal, requestId: RequestId): void => {
  const { status, body } = refusalBody(refusal, requestId)
  const headers = { ...standardHeaders(requestId), ...refusalHeaders(refusal, body), Connection: "close" }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} Refused`, ...head, "", body].join("\r\n"))
}

/** Headers of a 408 without a body. An error object would need a complete request. */
const LATE = { Connection: "close", "Content-Length": "0" }

/** Ends a connection whose request is incomplete after the timeout. */
export const endLateRequest = (socket: Duplex, requestId: RequestId): void => {
  const head = Object.entries({ ...standardHeaders(requestId), ...LATE }).map(
    ([name, value]) => `${name}: ${value}`
  )
  socket.end(["HTTP/1.1 408 Request Timeout", ...head, "", ""].join("\r\n"))
}

/** Ends a connection whose request body is incomplete after the timeout. */
export const endLateBody = (response: ServerResponse): void => void response.writeHead(408, LATE).end()

/** Refusals as responses of an Effect handler. */
export const refusalResponse = (
  refusal: HttpRefusal,
  requestId: RequestId
): HttpServerResponse.HttpServerResponse => {
  const { body, status } = refusalBody(refusal, requestId)
  return HttpServerResponse.text(body, {
    status,
    contentType: "application/json",
    headers: { ...refusalHeaders(refusal, body), Connection: "close" }
  })
}

/** Refuses a request whose body may still be arriving, on its socket. The returned response has been sent. */
export const refuseUnread = (
  response: ServerResponse,
  refusal: HttpRefusal,
  requestId: RequestId
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.callback((resume) => {
    response.once("close", () => resume(Effect.succeed(HttpServerResponse.empty())))
    refuseRequest(response, refusal, requestId)
  })
