/** Refusal as a response of the routes. The connection closes after it. */
import type { RequestId } from "@corral/domain/identity/Ids"
import { HttpServerResponse } from "effect/http"
import { type HttpRefusal, refusalBody, refusalHeaders } from "./Refusal.ts"

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
