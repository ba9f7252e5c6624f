import { assert, describe, it } from "@effect/vitest"
import { guard, type GuardedRequest, type GuardOptions } from "../../src/http/Guard.ts"
import { csrfOf, newToken } from "../../src/signin/SessionToken.ts"

const options: GuardOptions = {
  hosts: new Set(["hub.example", "127.0.0.1:7000"]),
  origins: new Set(["https://hub.example", "http://127.0.0.1:7000"])
}
const token = newToken("session")
const cookie = `other=1; __Host-corral=${token}`

const request = (
  headers: Readonly<Record<string, string>> = {},
  more: Partial<GuardedRequest> = {}
): GuardedRequest => {
  const all = { host: "hub.example", ...headers }
  return {
    method: "GET",
    target: "/client/projects",
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    upgrade: false,
    ...more
  }
}

const codeOf = (asked: GuardedRequest): string => {
  const passage = guard(asked, options)
  return passage._tag === "Pass" ? "pass" : passage.code
}

const post = { method: "POST" }
const json = { "content-type": "application/json", "content-length": "2" }

describe("guard", () => {
  it.each([
    ["its own name", request()],
    ["its own Origin", request({ origin: "https://hub.example" })],
    ["a bearer token", request({ authorization: "Bearer x" })],
    ["the cookie, reading", request({ cookie })],
    ["a link from elsewhere", request({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })],
    [
      "the cookie with Origin and CSRF header, writing",
      request({ cookie, origin: "https://hub.example", "x-csrf-token": csrfOf(token), ...json }, post)
    ],
    [
      "an upgrade with the cookie and Origin",
      request({ cookie, origin: "https://hub.example" }, { upgrade: true })
    ]
  ])("lets pass %s", (_, asked) => assert.strictEqual(codeOf(asked), "pass"))

  it.each([
    ["another name", request({ host: "evil.example" })],
    ["its name with another port", request({ host: "127.0.0.1:7001" })],
    ["its name with a suffix", request({ host: "hub.example.evil.example" })],
    ["two names", request({}, { rawHeaders: ["Host", "hub.example", "host", "hub.example"] })],
    ["no name", request({}, { headers: {}, rawHeaders: [] })],
    ["an absolute target", request({}, { target: "http://evil.example/client/projects" })],
    ["another Origin", request({ origin: "https://evil.example" })],
    ["an opaque Origin", request({ origin: "null" })],
    ["its Origin without TLS", request({ origin: "http://hub.example" })],
    ["another site's fetch", request({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })],
    ["another site's form", request({ "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" }, post)],
    ["the cookie, writing, without Origin", request({ cookie, "x-csrf-token": csrfOf(token) }, post)],
    ["the cookie, writing, without CSRF header", request({ cookie, origin: "https://hub.example" }, post)],
    [
      "the cookie, writing, with another session's CSRF header",
      request({ cookie, origin: "https://hub.example", "x-csrf-token": csrfOf(newToken("session")) }, post)
    ],
    ["an upgrade with the cookie and no Origin", request({ cookie }, { upgrade: true })]
  ])("refuses %s", (_, asked) => assert.strictEqual(codeOf(asked), "permission_denied"))

  it("takes one credential, not two", () => {
    assert.strictEqual(codeOf(request({ cookie, authorization: `Bearer ${token}` })), "unauthorized")
  })

  it("takes JSON of acceptable size, and a form from the identity provider alone", () => {
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
