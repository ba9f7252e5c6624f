/** Public pages and discovery files over a real Hub. */
import { layerStatus } from "@corral/domain/http/Health"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { pageAddresses } from "../../src/http/Console.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const page = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" }
const CONTACT = "https://corral.example/security?a=b"

describe("Public pages", () => {
  const hub = new HubInProcess({ env: { CORRAL_SECURITY_CONTACT: CONTACT } })
  const plain = new HubInProcess()
  beforeAll(async () => void (await Promise.all([hub.start(), plain.start()])))
  afterAll(async () => void (await Promise.all([hub.remove(), plain.remove()])))

  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(hub.url + path, { method, headers, redirect: "manual" })

  it.each(["openapi", "asyncapi"])("serve the %s document to everyone", async (kind) => {
    const published: unknown = JSON.parse(readFileSync(`${root}${kind}/hub.json`, "utf8"))
    for (const encoding of ["identity", "gzip", "br"]) {
      const response = await get(`/${kind}.json`, { "accept-encoding": encoding })
      assert.deepStrictEqual(
        [response.status, response.headers.get("content-type"), response.headers.get("content-encoding")],
        [200, "application/json", encoding === "identity" ? null : encoding]
      )
      assert.deepStrictEqual(await response.json(), published)
      const repeated = await get(`/${kind}.json`, {
        "accept-encoding": encoding,
        "if-none-match": response.headers.get("etag") ?? ""
      })
      assert.strictEqual(repeated.status, 304)
    }
    const refused = await get(`/${kind}.json`, {}, "DELETE")
    assert.deepStrictEqual([refused.status, refused.headers.get("allow")], [405, "GET"])
  })

  it("name themselves in the OpenAPI document, and the status of the layer in both", async () => {
    const [openApi, asyncApi] = await Promise.all(
      ["/openapi.json", "/asyncapi.json"].map(async (path) => (await get(path)).json())
    )
    assert.includeMembers(Object.keys(openApi.paths), ["/openapi.json", "/asyncapi.json"])
    assert.strictEqual(openApi.info["x-status"], layerStatus.hubApi)
    assert.strictEqual(asyncApi.info["x-status"], layerStatus.eventStreams)
  })

  it("say the status of each layer in the public health", async () => {
    const { layers, status } = await (await get("/api/public/health")).json()
    assert.deepStrictEqual([status, layers], ["ok", { ...layerStatus }])
    assert.notProperty(await (await get("/health")).json(), "layers")
  })

  it("keep robots out, and lead programs to the documents", async () => {
    const robots = await get("/robots.txt")
    assert.deepStrictEqual(
      [robots.status, robots.headers.get("content-type"), await robots.text()],
      [200, "text/plain; charset=utf-8", "User-agent: *\nDisallow: /\n"]
    )
    const llms = await get("/llms.txt")
    assert.strictEqual(llms.headers.get("content-type"), "text/markdown; charset=utf-8")
    const links = [...(await llms.text()).matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link)
    assert.isNotEmpty(links)
    for (const link of links) assert.strictEqual((await get(`/${link}`)).status, 200, link)
  })

  it("name a contact only where one is set", async () => {
    const response = await get("/.well-known/security.txt")
    assert.strictEqual(response.headers.get("content-type"), "text/plain; charset=utf-8")
    const [, contact, expires] = /^Contact: (.*)\nExpires: (.*)\n/.exec(await response.text()) ?? []
    assert.strictEqual(contact, CONTACT)
    const days = (Date.parse(expires ?? "") - Date.now()) / 86_400_000
    assert.isTrue(days > 80 && days < 365, String(days))
    for (const accept of ["*/*", page.accept]) {
      const missing = await fetch(`${plain.url}/.well-known/security.txt`, { headers: { accept } })
      assert.deepStrictEqual([missing.status, missing.headers.get("content-type")], [404, "application/json"])
    }
  })

  it("are the pages of the console, and 404 at any other address", async () => {
    const router = readFileSync(`${root}packages/console/src/app/App.tsx`, "utf8")
    const routes = [...router.matchAll(/path: "(\/[^"]*)"/g)].map(([, path = ""]) =>
      path.replace(/\$\w+/, ":id")
    )
    assert.deepStrictEqual([...pageAddresses].toSorted(), routes.toSorted())
    for (const address of pageAddresses)
      assert.strictEqual((await get(address.replace(":id", "x"), page)).status, 200, address)
    const segment = fc.constantFrom(
      "runs",
      "start",
      "nothing",
      "a.b",
      "%00",
      "..%2f",
      ".well-known",
      "client2"
    )
    const isPage = (path: string) =>
      pageAddresses.some((address) => new RegExp(`^${address.replace(":id", "[^/]+")}$`).test(path))
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 4 }), async (segments) => {
        const path = `/${segments.join("/")}`
        const response = await get(path, page)
        assert.deepStrictEqual(
          [path, response.status, response.headers.get("content-type")],
          [path, isPage(path) ? 200 : 404, "text/html; charset=utf-8"]
        )
        assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/)
        const forPrograms = await get(path, { accept: "application/json" })
        assert.deepStrictEqual(
          [forPrograms.status, forPrograms.headers.get("content-type")],
          [404, "application/json"]
        )
      }),
      { numRuns: 60 }
    )
    for (const path of ["/client/nothing", "/api/nothing", "/web/nothing", "/integrations/nothing"]) {
      const response = await get(path, page)
      assert.deepStrictEqual(
        [response.status, response.headers.get("content-type")],
        [404, "application/json"],
        path
      )
    }
  })
})
