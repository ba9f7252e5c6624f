/**
 * Answers where nothing is at an address: that of a missing route, with the same 404, and the same 405 for paths with another method; and a static
 * page in both languages for addresses that are not a page, without data, script and link.
 *
 * A missing route is a defect, which the service turns into the answer: a failure would be a requirement of the program that mounts the routes.
 */
import { Effect } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"

/**
 * Answer of a route that has nothing at an address: that of a missing route, with the same 404, and the same 405 for paths with another
 * method.
 */
export const noRoute: Effect.Effect<never, never, HttpServerRequest.HttpServerRequest> = Effect.flatMap(
  HttpServerRequest.HttpServerRequest,
  (request) =>
    Effect.die(
      new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
    )
)

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Not found</title>
<h1>Not found</h1>
<p>This address is not a page. Check it, or open the first page of this server.</p>
<p lang="zh-CN">此地址没有页面。请检查地址，或打开此服务器的首页。</p>
</html>
`

/** Static page for addresses that are not a page, in both languages. */
export const notFoundPage = HttpServerResponse.text(page, {
  status: 404,
  contentType: "text/html; charset=utf-8",
  headers: {
    "content-security-policy":
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store"
  }
})

/** Whether a browser navigates: it accepts a page. */
export const acceptsPage = (accept = ""): boolean => /(^|,)\s*text\/html\s*(;|,|$)/i.test(accept)
