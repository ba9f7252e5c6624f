import { assert, describe, it } from "@effect/vitest"
import { checkRequest, type RequestHead } from "@corral/service/http/RequestGuard"
import {
  type GatewayRoute,
  gatewayRequestPolicy,
  MAX_EVENT_BYTES
} from "../../src/http/GatewayRequestPolicy.ts"

const policy = gatewayRequestPolicy(
  new Map<string, GatewayRoute>([
    ["/health", { method: "GET", body: "json" }],
    ["/integrations/feishu/events", { method: "POST", body: "json" }],
    ["/integrations/slack/card-actions", { method: "POST", body: "form" }]
  ])
)

const json = { "content-type": "application/json", "content-length": "2" }
const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "2" }

const request = (
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {}
): RequestHead => ({ method, target, headers, hostCount: 1, isUpgrade: false })

const refusalOf = (...args: Parameters<typeof request>) => checkRequest(request(...args), policy)
const codeOf = (...args: Parameters<typeof request>): string => refusalOf(...args)?.code ?? "pass"

describe("gatewayRequestPolicy", () => {
  it("admits any Host, Origin and site: only the body identifies a platform", () => {
    const foreign = { host: "evil.example", origin: "https://evil.example", "sec-fetch-site": "cross-site" }
    assert.strictEqual(codeOf("POST", "/integrations/feishu/events", { ...json, ...foreign }), "pass")
    assert.strictEqual(codeOf("GET", "/health?x=1", foreign), "pass")
  })

  it("refuses other paths, and platforms without a bot, before the body", () => {
    for (const target of [
      "/",
      "/integrations/feishu/nothing",
      "/integrations/slack/events",
      "http://x/health"
    ])
      assert.strictEqual(codeOf("POST", target, { "content-length": "9999999" }), "not_found", target)
  })

  it("refuses other methods with the one that is served", () => {
    assert.deepStrictEqual(refusalOf("HEAD", "/health"), { code: "method_not_allowed", allow: ["GET"] })
    assert.deepStrictEqual(refusalOf("GET", "/integrations/feishu/events"), {
      code: "method_not_allowed",
      allow: ["POST"]
    })
  })

  it("admits bodies of the expected kind, up to the limit", () => {
    assert.strictEqual(codeOf("POST", "/integrations/slack/card-actions", form), "pass")
    assert.strictEqual(codeOf("POST", "/integrations/slack/card-actions", json), "unsupported_media_type")
    assert.strictEqual(codeOf("POST", "/integrations/feishu/events", form), "unsupported_media_type")
    for (const [bytes, code] of [
      [MAX_EVENT_BYTES, "pass"],
      [MAX_EVENT_BYTES + 1, "payload_too_large"]
    ] as const)
      assert.strictEqual(
        codeOf("POST", "/integrations/feishu/events", { ...json, "content-length": String(bytes) }),
        code
      )
  })

  it("requires a media type for an empty webhook", () => {
    assert.strictEqual(codeOf("POST", "/integrations/feishu/events"), "unsupported_media_type")
    assert.strictEqual(
      codeOf("POST", "/integrations/feishu/events", { ...json, "content-length": "0" }),
      "pass"
    )
  })

  it("leaves the metrics page to the server", () => {
    assert.strictEqual(codeOf("GET", "/metrics"), "pass")
    assert.strictEqual(codeOf("GET", "/metrics/x"), "not_found")
  })
})
