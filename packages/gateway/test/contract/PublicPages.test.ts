/** Public pages and discovery files over a real Gateway. */
import { layerStatus } from "@corral/domain/http/Health"
import { GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const page = { accept: "text/html,*/*;q=0.8" }
const CONTACT = "mailto:security@corral.example"

describe("Public pages of a Gateway", () => {
  const gateway = new GatewayProcess({ env: { CORRAL_SECURITY_CONTACT: CONTACT } })
  beforeAll(() => gateway.start())
  afterAll(() => gateway.remove())

  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(gateway.url + path, { method, headers })

  it.each(["openapi", "asyncapi"])("serve the %s document", async (kind) => {
    const response = await get(`/${kind}.json`)
    assert.deepStrictEqual([response.status, response.headers.get("content-type")], [200, "application/json"])
    const served = await response.json()
    assert.deepStrictEqual(served, JSON.parse(readFileSync(`${root}${kind}/gateway.json`, "utf8")))
    assert.strictEqual(served.info["x-status"], layerStatus.chatEvents)
    assert.strictEqual((await get(`/${kind}.json`, {}, "POST")).status, 405)
  })

  it("serve the discovery files", async () => {
    assert.strictEqual(await (await get("/robots.txt")).text(), "User-agent: *\nDisallow: /\n")
    assert.include(await (await get("/llms.txt")).text(), "(openapi.json)")
    assert.include(await (await get("/.well-known/security.txt")).text(), `Contact: ${CONTACT}\n`)
  })

  it("are 404 at other addresses: a page for browsers, an error object for programs and webhooks", async () => {
    for (const path of ["/", "/nothing", "/a/b?c=d", "/.well-known/other"]) {
      const response = await get(path, page)
      assert.deepStrictEqual(
        [response.status, response.headers.get("content-type")],
        [404, "text/html; charset=utf-8"],
        path
      )
      assert.notMatch(await response.text(), /<script|href=|src=/)
    }
    const requests = [
      ["/nothing", {}, "GET"],
      ["/nothing", page, "POST"],
      ["/integrations/other/events", page, "GET"],
      ["/integrations", { accept: "application/json" }, "GET"]
    ] as const
    for (const [path, headers, method] of requests) {
      const response = await get(path, headers, method)
      assert.deepStrictEqual(
        [response.status, response.headers.get("content-type")],
        [404, "application/json"],
        path
      )
    }
  })
})
