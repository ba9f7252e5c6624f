/** Refusals as responses of an Effect handler. The connection closes after them. */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { type HttpRefusal, refusalBody, refusalHeaders, refuseRequest } from "./Refusal.ts"

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
