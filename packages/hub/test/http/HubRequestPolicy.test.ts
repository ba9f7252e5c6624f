import { assert, describe, it } from "@effect/vitest"
import { checkRequest, namesOfOrigins, type RequestHead } from "@corral/service/http/RequestGuard"
import { hubRequestPolicy } from "../../src/http/HubRequestPolicy.ts"
import { csrfOf, newToken } from "../../src/signin/SessionToken.ts"

const policy = hubRequestPolicy(namesOfOrigins(["https://hub.example", "http://127.0.0.1:7000"]))
const token = newToken("session")
const cookie = `other=1; __Host-corral=${token}`

const request = (
  headers: Readonly<Record<string, string>> = {},
  more: Partial<RequestHead> = {}
): RequestHead => ({
  method: "GET",
  target: "/client/projects",
  headers: { host: "hub.example", ...headers },
  hostCount: 1,
  isUpgrade: false,
  ...more
})

const codeOf = (head: RequestHead): string => checkRequest(head, policy)?.code ?? "pass"

const post = { method: "POST" }
const json = { "content-type": "application/json", "content-length": "2" }

describe("hubRequestPolicy", () => {
  it.each([
    ["the Hub's name", request()],
    ["the Hub's Origin", request({ origin: "https://hub.example" })],
    ["a bearer token", request({ authorization: "Bearer x" })],
    ["the cookie that reads", request({ cookie })],
    [
      "a navigation from another site",
      request({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })
    ],
    [
      "the cookie that writes with Origin and CSRF header",
      request({ cookie, origin: "https://hub.example", "x-csrf-token": csrfOf(token), ...json }, post)
    ],
    [
      "an upgrade, the cookie and Origin",
      request({ cookie, origin: "https://hub.example" }, { isUpgrade: true })
    ]
  ])("admits a request with %s", (_, head) => assert.strictEqual(codeOf(head), "pass"))

  it.each([
    ["another name", request({ host: "evil.example" })],
    ["the Hub's name with another port", request({ host: "127.0.0.1:7001" })],
    ["the Hub's name with a suffix", request({ host: "hub.example.evil.example" })],
    ["two names", request({}, { hostCount: 2 })],
    ["no name", request({}, { headers: {}, hostCount: 0 })],
    ["an absolute target", request({}, { target: "http://evil.example/client/projects" })],
    ["another Origin", request({ origin: "https://evil.example" })],
    ["an opaque Origin", request({ origin: "null" })],
    ["the Hub's Origin without TLS", request({ origin: "http://hub.example" })],
    ["another site's fetch", request({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })],
    ["another site's form", request({ "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" }, post)],
    ["the cookie that writes without Origin", request({ cookie, "x-csrf-token": csrfOf(token) }, post)],
    ["the cookie that writes without CSRF header", request({ cookie, origin: "https://hub.example" }, post)],
    [
      "the cookie that writes with another session's CSRF header",
      request({ cookie, origin: "https://hub.example", "x-csrf-token": csrfOf(newToken("session")) }, post)
    ],
    ["an upgrade, the cookie and no Origin", request({ cookie }, { isUpgrade: true })]
  ])("refuses a request with %s", (_, head) => assert.strictEqual(codeOf(head), "permission_denied"))

  it("refuses two credentials", () => {
    assert.strictEqual(codeOf(request({ cookie, authorization: `Bearer ${token}` })), "unauthorized")
  })

  it("accepts JSON up to the limit, and a form only at the logout path", () => {
    const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "2" }
    assert.strictEqual(codeOf(request({ ...json, "content-length": "1048577" }, post)), "payload_too_large")
    assert.strictEqual(
      codeOf(request({ ...json, "content-type": "text/plain" }, post)),
      "unsupported_media_type"
    )
    assert.strictEqual(codeOf(request({ "content-length": "2" }, post)), "unsupported_media_type")
    assert.strictEqual(codeOf(request(form, post)), "unsupported_media_type")
    assert.strictEqual(codeOf(request(form, { ...post, target: "/client/auth/backchannel-logout" })), "pass")
  })
})
