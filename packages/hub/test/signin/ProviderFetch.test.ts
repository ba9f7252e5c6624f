import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createHttps } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { providerFetch } from "../../src/signin/IdentityProvider.ts"

/** Says what it was sent; other paths answer in other ways. */
const answer = (request: IncomingMessage, response: ServerResponse): void => {
  let body = ""
  request.on("data", (chunk: Buffer) => (body += String(chunk)))
  request.on("end", () => {
    const { headers, method, url } = request
    if (url === "/none") return void response.writeHead(204).end()
    if (url === "/away") return void response.writeHead(302, { location: "https://evil.example" }).end()
    if (url === "/long") return void response.end(Buffer.alloc(2_000_000))
    if (url === "/hangs") return
    response.writeHead(418, { "content-type": "application/json" })
    response.end(JSON.stringify({ method, body, type: headers["content-type"], own: headers["x-own"] }))
  })
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe("providerFetch", () => {
  const server = createHttp(answer)
  const call = providerFetch("")
  let url: string
  beforeAll(async () => {
    url = `http://${await listening(server)}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  it("sends and responds like fetch", async () => {
    const response = await call(`${url}/`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", "x-own": "1" },
      body: new URLSearchParams({ a: "b c" })
    })
    assert.strictEqual(response.status, 418)
    assert.strictEqual(response.headers.get("content-type"), "application/json")
    assert.deepStrictEqual(await response.json(), {
      method: "POST",
      body: "a=b+c",
      type: "application/x-www-form-urlencoded",
      own: "1"
    })
    assert.strictEqual((await call(`${url}/none`)).status, 204)
  })

  it("follows no redirect, and limits the response", async () => {
    assert.strictEqual((await call(`${url}/away`)).status, 302)
    const error = await call(`${url}/long`).catch((reason: unknown) => reason)
    assert.instanceOf(error, TypeError)
  })

  it("stops when aborted, and reports network failures", async () => {
    const ended = await call(`${url}/hangs`, { signal: AbortSignal.timeout(50) }).catch(
      (reason: unknown) => reason
    )
    assert.instanceOf(ended, Error)
    const refused = await call("http://127.0.0.1:1/").catch((reason: unknown) => reason)
    assert.instanceOf(refused, TypeError)
  })
})

describe.skipIf(spawnSync("openssl", ["version"]).status !== 0)("a certificate of one's own", () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-hub-"))
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")]
  const names = ["-subj", "/CN=idp", "-addext", "subjectAltName=IP:127.0.0.1"]
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"].concat(
      ["-keyout", key, "-out", certificate],
      names
    ),
    { stdio: "ignore" }
  )
  const server = createHttps({ key: readFileSync(key), cert: readFileSync(certificate) }, answer)
  afterAll(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })

  it("trusts the certificates for the provider only", async () => {
    const url = `https://${await listening(server)}/`
    assert.strictEqual((await providerFetch(readFileSync(certificate, "utf8"))(url)).status, 418)
    const refused = await providerFetch("")(url).catch((reason: unknown) => reason)
    assert.instanceOf(refused, TypeError)
  })
})
