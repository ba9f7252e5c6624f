/** `GET /metrics` behind a real listener: who may read it, and what requests leave there. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { HttpRefusal } from "../../src/http/Refusal.ts"
import * as Telemetry from "../../src/telemetry/Telemetry.ts"
import type { TelemetryConfig } from "../../src/telemetry/TelemetrySettings.ts"
import { PrometheusText } from "@corral/testing/http/PrometheusText"
import type { IncomingMessage } from "node:http"
import { served } from "./Served.ts"

const TOKEN = "a-token-of-more-than-32-characters"

const refusalOf = ({ headers }: IncomingMessage): HttpRefusal | undefined =>
  headers["x-bad"] === undefined ? undefined : { code: "permission_denied" }

const serve = async (config: TelemetryConfig): Promise<string> => {
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const answering = served(({ headers }, response) => response.end(headers["traceparent"] ?? "none"), {
    paths: ["/things/:id"],
    refusalOf
  })
  const port = await Effect.runPromise(
    Effect.flatMap(Layer.build(Telemetry.telemetryLayer("hub", config)), (services) =>
      Effect.provide(answering, services)
    ).pipe(Scope.provide(scope))
  )
  return `http://127.0.0.1:${port}`
}

const requestPage = async (url: string, headers: Record<string, string>, method = "GET") => {
  const response = await fetch(url, { method, headers })
  const text = await response.text()
  const code = text.startsWith("{") ? (JSON.parse(text) as { readonly code: string }).code : undefined
  return { status: response.status, code, text, headers: response.headers }
}

describe("GET /metrics", () => {
  it("is not there without a token for it", async () => {
    const url = await serve({})
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }])
      assert.deepInclude(await requestPage(`${url}/metrics`, headers), { status: 404, code: "not_found" })
  })

  it("requires the token, and is not served to browsers", async () => {
    const page = `${await serve({ metricsToken: Redacted.make(TOKEN) })}/metrics`
    const authorization = `Bearer ${TOKEN}`
    for (const wrong of [
      undefined,
      "",
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}x`,
      "Bearer x",
      `Bearer ${TOKEN} x`
    ]) {
      const headers: Record<string, string> = wrong === undefined ? {} : { authorization: wrong }
      assert.deepInclude(
        await requestPage(page, headers),
        { status: 401, code: "unauthorized" },
        String(wrong)
      )
    }
    for (const foreign of [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { "x-bad": "1" }
    ])
      assert.deepInclude(await requestPage(page, { authorization, ...foreign }), {
        code: "permission_denied"
      })
    const posted = await requestPage(page, { authorization }, "POST")
    assert.deepStrictEqual([posted.status, posted.headers.get("allow")], [405, "GET"])
    const response = await requestPage(`${page}?x=1`, { authorization })
    assert.deepStrictEqual(
      [response.status, response.headers.get("content-type"), response.headers.get("cache-control")],
      [200, "text/plain; version=0.0.4; charset=utf-8", "no-store"]
    )
    assert.isAbove(new PrometheusText(response.text).sum("corral_hub_process_heap_bytes"), 1_000_000)
  })

  it("counts requests by their route, not by their path", async () => {
    const url = await serve({ metricsToken: Redacted.make(TOKEN) })
    for (const path of ["/things/one", "/things/two?secret=s3cret", "/nowhere/s3cret"])
      await requestPage(url + path, {})
    await requestPage(`${url}/things/one`, { "x-bad": "1" })
    const { text } = await requestPage(`${url}/metrics`, { authorization: `Bearer ${TOKEN}` })
    const found = new PrometheusText(text)
    const count = (labels: Readonly<Record<string, string>>) =>
      found.sum("corral_hub_http_request_duration_seconds_count", labels)
    assert.strictEqual(count({ method: "GET", route: "/things/:id", status: "2xx" }), 2)
    assert.strictEqual(count({ route: "/things/:id", status: "4xx" }), 1)
    assert.strictEqual(count({ route: "other" }), 1)
    assert.notInclude(text, "s3cret")
  })

  it("leaves a caller's traceparent as it came where there is no collector", async () => {
    const url = await serve({})
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert.strictEqual((await requestPage(`${url}/things/1`, { traceparent })).text, traceparent)
    assert.strictEqual((await requestPage(`${url}/things/1`, {})).text, "none")
  })
})
