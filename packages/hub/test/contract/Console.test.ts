import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { consoleFolder } from "../../src/http/Console.ts"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"

const page = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" }

describe("The console of a Hub", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(hub.url + path, { method, headers, redirect: "manual" })

  /** The target as it stands, which `fetch` would tidy. */
  const raw = async (target: string): Promise<string> => {
    const { host, hostname, port } = new URL(hub.url)
    const socket = connect(Number(port), hostname)
    socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\naccept: text/html\r\nconnection: close\r\n\r\n`)
    return text(socket)
  }

  it("serves one page for every navigation, with a strict policy", async () => {
    const pages = await Promise.all(["/", "/runs/run_1?x=1", "/projects/a.b"].map((path) => get(path, page)))
    const texts = await Promise.all(pages.map((response) => response.text()))
    for (const [i, { headers, status }] of pages.entries()) {
      assert.strictEqual(status, 200)
      assert.strictEqual(texts[i], texts[0])
      assert.match(headers.get("content-type") ?? "", /^text\/html; charset=utf-8$/)
      assert.strictEqual(headers.get("cache-control"), "no-store")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
      const policy = headers.get("content-security-policy") ?? ""
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
      assert.notMatch(policy, /unsafe|data:|\*/)
      // The console previews images that the user attaches, and nothing else of its memory.
      const withBlob = policy.split("; ").filter((directive) => directive.includes("blob:"))
      assert.deepStrictEqual(withBlob, ["img-src 'self' blob:", "media-src 'self' blob:"])
    }
    assert.include(texts[0], "Corral")
  })

  it("answers HEAD like GET without the body", async () => {
    const response = await get("/", page, "HEAD")
    assert.deepStrictEqual([response.status, await response.text()], [200, ""])
    assert.match(response.headers.get("content-type") ?? "", /^text\/html/)
  })

  it("keeps error objects for missing paths of the API", async () => {
    const refusals = [
      ["GET", "/client/nothing", 404],
      ["GET", "/api/nothing", 404],
      ["GET", "/assets/nothing.js", 404],
      ["GET", "/web/agent-tasks", 405],
      ["GET", "/integrations/events", 405],
      ["GET", "/client/runs", 401],
      ["POST", "/runs", 404]
    ] as const
    for (const [method, path, status] of refusals) {
      const response = await get(path, page, method)
      assert.strictEqual(response.status, status, path)
      assert.match(response.headers.get("content-type") ?? "", /^application\/json/, path)
    }
    assert.strictEqual((await get("/nothing")).status, 404)
    assert.match((await get("/device", page)).headers.get("content-security-policy") ?? "", /sha256/)
  })

  it("serves only its own files, in any spelling of the path", async () => {
    const ways = [
      "/../main.cjs",
      "/assets/../../main.cjs",
      "/assets/%2e%2e/%2e%2e/main.cjs",
      "/..%2fmain.cjs"
    ]
    for (const path of [...ways, "/assets/..\\..\\main.cjs", "/assets/%00", "/%2fetc%2fpasswd"]) {
      const answer = await raw(path)
      assert.match(answer, /^HTTP\/1\.1 (200|404) /, path)
      assert.notMatch(answer, /createRequire|root:/, path)
      if (answer.startsWith("HTTP/1.1 200")) assert.include(answer, "<title>Corral</title>", path)
    }
  })

  it.skipIf(consoleFolder() === undefined)("gives its assets compressed, to be kept for ever", async () => {
    const html = await (await get("/", page)).text()
    const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path)
    assert.isNotEmpty(assets)
    let compressed = 0
    for (const path of assets) {
      const plain = await get(path, { "accept-encoding": "identity" })
      const whole = await plain.text()
      assert.match(plain.headers.get("content-type") ?? "", /^text\/(javascript|css); charset=utf-8$/)
      assert.strictEqual(plain.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.isNull(plain.headers.get("content-encoding"))
      // Compression makes a very small file no smaller.
      if (Buffer.byteLength(whole) <= 512) {
        const small = await get(path, { "accept-encoding": "br, gzip" })
        assert.deepStrictEqual([small.headers.get("content-encoding"), await small.text()], [null, whole])
        continue
      }
      compressed++
      for (const encoding of ["gzip", "br"]) {
        const packed = await get(path, { "accept-encoding": `${encoding}, deflate` })
        assert.strictEqual(packed.headers.get("content-encoding"), encoding)
        assert.strictEqual(packed.headers.get("vary"), "accept-encoding")
        assert.strictEqual(await packed.text(), whole)
        const etag = packed.headers.get("etag") ?? ""
        const existing = await get(path, { "accept-encoding": encoding, "if-none-match": etag })
        assert.deepStrictEqual([existing.status, await existing.text()], [304, ""])
      }
      const refused = await get(path, { "accept-encoding": "br;q=0, gzip;q=0.5" })
      assert.strictEqual(refused.headers.get("content-encoding"), "gzip")
    }
    assert.isAbove(compressed, 1)
  })
})
