/** Responses that arrive in pieces, as proxies should pass them on: nginx collects a response before it forwards it, unless the response says otherwise. */
import { HttpServerResponse } from "effect/http"

/** A stream that asks proxies neither to collect it nor to change it, such as by compression. Any other response is unchanged. */
export const unbuffered = (
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse =>
  response.body._tag === "Stream"
    ? HttpServerResponse.setHeaders(response, {
        "x-accel-buffering": "no",
        "cache-control": `${response.headers["cache-control"] ?? "no-store"}, no-transform`
      })
    : response
