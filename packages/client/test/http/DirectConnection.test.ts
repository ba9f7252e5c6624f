/** Requests to this machine with a proxy in the environment: the proxy records what it receives. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { isThisMachine } from "@corral/domain/http/DirectConnection"
import { execFile } from "node:child_process"
import { createServer, type AddressInfo, type Server } from "node:net"
import { promisify } from "node:util"

const folder = new URL("../..", import.meta.url)

/** Sends a request and opens a WebSocket to each address, and one request to another machine. */
const program = `
  import { edgeClient } from "@corral/client/Edge"
  const [outside, ...addresses] = process.argv.slice(1)
  await Promise.all(addresses.map(async (url) => {
    const edge = edgeClient({ url, token: "loopback-token", timeoutMs: 2000 })
    await edge.runs.list({ query: {} }).catch(() => undefined)
    const reading = new AbortController()
    setTimeout(() => reading.abort(), 300)
    try { for await (const _ of edge.allEvents({ signal: reading.signal })); } catch {}
  }))
  const other = edgeClient({ url: outside, token: "outside-token", timeoutMs: 2000 })
  await other.runs.list({ query: {} }).catch(() => undefined)
  process.exit()
`

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    onTestFinished(() => void server.close())
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })

/** A server that records what it receives, and closes each connection. */
const recorder = async () => {
  let received = ""
  const server = createServer((socket) => {
    socket.on("error", () => undefined)
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1")
      socket.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
    })
  })
  const port = await listening(server)
  return { port, received: () => received }
}

const loopbackForms = (port: number): ReadonlyArray<string> =>
  ["127.0.0.1", "localhost", "LOCALHOST", "edge.localhost", "127.1", "127.8.7.6", "2130706433", "0x7f.1"].map(
    (host) => `http://${host}:${port}`
  )

describe.each([
  ["NODE_USE_ENV_PROXY", { NODE_USE_ENV_PROXY: "1" }, []],
  ["NODE_OPTIONS", { NODE_OPTIONS: "--use-env-proxy" }, []],
  ["--use-env-proxy", {}, ["--use-env-proxy"]]
] as const)("with %s", (_, variables, flags) => {
  it.each(["HTTP_PROXY", "http_proxy"])("sends nothing that is for this machine to %s", async (name) => {
    const [proxy, service] = await Promise.all([recorder(), recorder()])
    const env = { PATH: process.env["PATH"], [name]: `http://127.0.0.1:${proxy.port}`, ...variables }
    const args = [...flags, "--input-type=module", "-e", program, "http://outside.invalid"]
    await promisify(execFile)(process.execPath, [...args, ...loopbackForms(service.port)], {
      cwd: folder,
      env
    })
    assert.include(proxy.received(), "outside.invalid", "other addresses pass the proxy")
    assert.notInclude(proxy.received(), String(service.port))
    assert.notInclude(proxy.received(), "loopback-token")
    assert.include(service.received(), "Bearer loopback-token")
    assert.match(service.received(), /upgrade: websocket/i)
  })
})

describe("isThisMachine", () => {
  it.each([
    "http://127.0.0.1",
    "https://127.255.255.254:8443/path",
    "ws://localhost:1",
    "http://a.b.localhost",
    "http://[::1]:80",
    "http://[::ffff:127.0.0.1]",
    "http://0x7f000001"
  ])("accepts %s", (address) => assert.isTrue(isThisMachine(address)))

  it.each([
    "http://128.0.0.1",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://notlocalhost",
    "http://[::2]",
    "http://[::ffff:128.0.0.1]",
    "http://example.com/127.0.0.1",
    "/v1/runs",
    ""
  ])("refuses %s", (address) => assert.isFalse(isThisMachine(address)))
})
