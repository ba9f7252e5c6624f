import { assert, describe, it } from "@effect/vitest"
import { HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import {
  checkRequest,
  headOfMessage,
  RequestGuard,
  type RequestHead,
  type RequestPolicy
} from "../../src/http/RequestGuard.ts"

const names = { hosts: new Set(["own.example"]), origins: new Set(["https://own.example"]) }

const head = (headers: RequestHead["headers"] = {}, more: Partial<RequestHead> = {}): RequestHead => ({
  method: "POST",
  target: "/a?b=c",
  headers: { host: "own.example", ...headers },
  hostCount: 1,
  isUpgrade: false,
  ...more
})

const codeOf = (request: RequestHead, policy: RequestPolicy): string =>
  checkRequest(request, policy)?.code ?? "admitted"

describe("checkRequest", () => {
  it("admits any Host, Origin and site under a policy without names", () => {
    const foreign = head({ host: "evil.example", origin: "null", "sec-fetch-site": "cross-site" })
    assert.strictEqual(codeOf(foreign, {}), "admitted")
    assert.strictEqual(codeOf(foreign, { names }), "permission_denied")
  })

  it("checks names, then the service's own policy, then the body", () => {
    const policy: RequestPolicy = { names, refusalOf: () => ({ code: "unauthorized" }) }
    const badBody = { "content-type": "text/plain", "content-length": "1" }
    assert.strictEqual(codeOf(head({ host: "evil.example" }), policy), "permission_denied")
    assert.strictEqual(codeOf(head(badBody), policy), "unauthorized")
    assert.strictEqual(codeOf(head(badBody), { names }), "unsupported_media_type")
  })

  it("expects the kind of body that the policy names for the path", () => {
    const policy: RequestPolicy = { bodyKindAt: (path) => (path === "/a" ? "form" : "json") }
    const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "1" }
    assert.strictEqual(codeOf(head(form), policy), "admitted")
    assert.strictEqual(codeOf(head(form, { target: "/b" }), policy), "unsupported_media_type")
    assert.strictEqual(
      codeOf(head({ "transfer-encoding": "chunked" }), policy),
      "unsupported_media_type",
      "a body of unknown length"
    )
  })

  it("requires a media type for an empty body where the policy does", () => {
    const policy: RequestPolicy = { requiresBodyAt: (path) => path === "/a" }
    assert.strictEqual(codeOf(head(), policy), "unsupported_media_type")
    assert.strictEqual(codeOf(head({ "content-type": "application/json" }), policy), "admitted")
    assert.strictEqual(codeOf(head({}, { target: "/b" }), policy), "admitted")
  })

  it("allows cross-site requests where the policy does", () => {
    const crossSite = head({ "sec-fetch-site": "cross-site" })
    assert.strictEqual(codeOf(crossSite, { names }), "permission_denied")
    assert.strictEqual(codeOf(crossSite, { names, allowsCrossSite: () => true }), "admitted")
  })
})

describe("RequestGuard", () => {
  const message = (...rawHeaders: ReadonlyArray<string>): IncomingMessage => {
    const request = new IncomingMessage(new Socket())
    request.method = "GET"
    request.url = "/"
    request.rawHeaders = [...rawHeaders]
    for (let i = 0; i < rawHeaders.length; i += 2)
      request.headers[rawHeaders[i]?.toLowerCase() ?? ""] ??= rawHeaders[i + 1]
    return request
  }

  it("counts every Host header as sent", () => {
    const twice = message("Host", "own.example", "hOST", "own.example")
    assert.strictEqual(headOfMessage(twice, false).hostCount, 2)
    assert.strictEqual(RequestGuard.make({ names }).refusalOfMessage(twice, false)?.code, "permission_denied")
  })

  it("checks a routed request that another server received", () => {
    const guard = RequestGuard.make({ names })
    const from = (host: string) =>
      HttpServerRequest.fromWeb(new Request("https://own.example/", { headers: { host } }))
    assert.isUndefined(guard.refusalOfRouted(from("own.example")))
    assert.strictEqual(guard.refusalOfRouted(from("evil.example"))?.code, "permission_denied")
  })

  it("refuses an absolute target that a router has shortened", () => {
    const source = message("Host", "own.example")
    source.url = "http://own.example/"
    const routed = Object.assign(HttpServerRequest.fromWeb(new Request("https://own.example/")), { source })
    assert.strictEqual(RequestGuard.make({ names }).refusalOfRouted(routed)?.code, "permission_denied")
  })

  it("checks a request once: a request that its listener admitted is not checked again", () => {
    let checks = 0
    const guard = RequestGuard.make({
      refusalOf: () => {
        checks++
        return undefined
      }
    })
    const source = message("Host", "own.example")
    guard.refusalOfMessage(source, false)
    const routed = HttpServerRequest.fromWeb(new Request("https://own.example/"))
    guard.refusalOfRouted(Object.assign(routed, { source }))
    assert.strictEqual(checks, 1)
    guard.refusalOfRouted(HttpServerRequest.fromWeb(new Request("https://own.example/")))
    assert.strictEqual(checks, 2)
  })
})
