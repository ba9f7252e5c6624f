/** Keys that the proxy of a run adds, over its socket. */
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { connect } from "node:net"
import { gzipSync } from "node:zlib"
import { KEY, openKeyServer, options } from "./KeyServer.ts"

const request = (headers: string, { host = "model.test", path = "/v1/messages" } = {}): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`

const open = async (more: Partial<Parameters<typeof openKeyServer>[0]> = {}) => {
  const seen: Array<IncomingMessage> = []
  const server = await openKeyServer({
    respond: (received, response) => {
      seen.push(received)
      response.end("from the model")
    },
    ...more
  })
  return { ...server, seen }
}

describe("KeyProxy", () => {
  it("sends the key where the placeholder is, and changes no other header", async () => {
    const { env, placeholder, seen, send } = await open()
    assert.match(placeholder, /^sk-ant-[0-9a-f]{48}$/)
    assert.strictEqual(env["COPY"], `key: ${placeholder}`)
    const answer = await send("model.test:443", request(`x-api-key: ${placeholder}\r\nX-Kept: 1\r\n`))
    assert.include(answer, "from the model")
    const [{ headers = {} } = {}] = seen
    assert.deepInclude(headers, { "x-api-key": KEY, "x-kept": "1", host: "model.test" })
  })

  it.each([
    ["no key", ""],
    ["another key", "x-api-key: sk-ant-other\r\n"],
    ["two keys", "x-api-key: PLACEHOLDER\r\nx-api-key: PLACEHOLDER\r\n"],
    ["another header", "x-other: PLACEHOLDER\r\n"],
    ["a bearer token that the key is not", "authorization: Bearer PLACEHOLDER\r\n"],
    ["a placeholder with more text", "x-api-key: PLACEHOLDER1\r\n"]
  ])("adds no key to a request with %s", async (_, headers) => {
    const { placeholder, seen, send } = await open()
    await send("model.test:443", request(headers.replaceAll("PLACEHOLDER", placeholder)))
    assert.strictEqual(seen.length, 1)
    assert.notInclude(JSON.stringify(seen[0]?.rawHeaders), KEY)
  })

  it.each([
    ["another host", { host: "other.test" }],
    ["another port", { host: "model.test:8443" }],
    ["a full address of another host", { path: "https://other.test/" }],
    ["a full address", { path: "https://model.test/" }]
  ])("refuses a request that names %s", async (_, more) => {
    const { placeholder, refusals, seen, send } = await open()
    const answer = await send("model.test:443", request(`x-api-key: ${placeholder}\r\n`, more))
    assert.match(answer, /^HTTP\/1.1 403 /)
    assert.include(answer, "network_other_host")
    assert.deepStrictEqual([seen, refusals], [[], []])
  })

  it("does not read the connection to another host, which receives the placeholder", async () => {
    const { authority, placeholder, seen, send } = await open()
    // Only the authority of the other host's own certificate is trusted.
    await send("other.test:443", request(`x-api-key: ${placeholder}\r\n`, { host: "other.test" }), {
      ca: [authority]
    })
    assert.deepInclude(seen[0]?.headers, { "x-api-key": placeholder })
  })

  it("sends no key to a host whose certificate is not valid", async () => {
    const { placeholder, refusals, seen, send } = await open({ certificateOf: ["other.test"] })
    const answer = await send("model.test:443", request(`x-api-key: ${placeholder}\r\n`))
    assert.match(answer, /^HTTP\/1.1 403 /)
    assert.include(answer, "The certificate of model.test:443 is not valid")
    assert.deepStrictEqual([seen, refusals], [[], ["certificate"]])
  })

  it("ends the connection of a program that trusts other certificates only", async () => {
    const { secure, seen } = await open()
    const failure = await secure("model.test:443", { ca: [] }).then(() => "connected", String)
    assert.include(failure, "unable to verify")
    assert.deepStrictEqual(seen, [])
  })

  it("offers HTTP/1.1 only", async () => {
    const { secure } = await open()
    const both = await secure("model.test:443", { ALPNProtocols: ["h2", "http/1.1"] })
    assert.strictEqual(both.alpnProtocol, "http/1.1")
  })

  it("removes the key from headers and bodies of responses, in any chunks", async () => {
    const body = `before ${KEY} after sk-ant-`
    for (const size of [1, 3, 100]) {
      const { placeholder, send } = await open({
        respond: (_, response) => {
          response.writeHead(302, {
            location: `https://other.test/?key=${KEY}`,
            "content-length": body.length
          })
          for (let at = 0; at < body.length; at += size) response.write(body.slice(at, at + size))
          response.end()
        }
      })
      const answer = await send("model.test:443", request(`x-api-key: ${placeholder}\r\n`))
      assert.notInclude(answer, KEY)
      assert.match(answer, /^HTTP\/1.1 302 /)
      assert.include(answer, `location: https://other.test/?key=${"*".repeat(KEY.length)}`)
      assert.isTrue(answer.endsWith(`before ${"*".repeat(KEY.length)} after sk-ant-`), answer)
    }
  })

  it("refuses a compressed response, which it did not request", async () => {
    const { placeholder, send } = await open({
      respond: ({ headers }, response) => {
        assert.strictEqual(headers["accept-encoding"], "identity")
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(KEY))
      }
    })
    const head = `x-api-key: ${placeholder}\r\nAccept-Encoding: gzip\r\n`
    assert.include(await send("model.test:443", request(head)), "network_encoded")
  })

  it("streams each event of a response before the next one is sent", async () => {
    let next: (() => void) | undefined
    const { placeholder, secure } = await open({
      respond: (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
        let count = 0
        next = () => void response.write(`data: ${++count}\n\n`)
      }
    })
    const client = (await secure("model.test:443")).setEncoding("utf8")
    client.write(request(`x-api-key: ${placeholder}\r\n`))
    let answer = ""
    const until = async (text: string) => {
      while (!answer.includes(text)) answer += String((await once(client, "data"))[0])
    }
    await until("text/event-stream")
    for (const count of [1, 2, 3]) {
      next?.()
      await until(`data: ${count}\n\n`)
    }
  })

  it("adds a key to plain HTTP at an address that the owner wrote", async () => {
    const keys = {
      ...options,
      entry: { adapter: "a", addresses: { OTHER_KEY: ["http://plain.test/v1"] as const } },
      env: { OTHER_KEY: KEY }
    }
    const { env, path, placeholder: none, seen } = await open({ isPlain: true, keys })
    const placeholder = env["OTHER_KEY"]
    assert.deepStrictEqual([none, env["SSL_CERT_FILE"]], ["", undefined])
    const ask = async (text: string) => {
      const socket = connect(path).setEncoding("utf8")
      socket.write(text)
      let answer = ""
      for await (const more of socket) answer += String(more)
      return answer
    }
    const head = `authorization: Bearer ${placeholder}\r\n`
    const direct = request(head, { host: "plain.test", path: "http://plain.test/v1/a" })
    assert.include(await ask(direct), "from the model")
    const connecting = "CONNECT plain.test:80 HTTP/1.1\r\nHost: x\r\n\r\n"
    assert.include(
      await ask(connecting + request(head, { host: "plain.test", path: "/v1/b" })),
      "from the model"
    )
    const elsewhere = request(head, { host: "other.test", path: "http://other.test/v1/c" })
    assert.include(await ask(elsewhere), "from the model")
    assert.deepStrictEqual(
      seen.map(({ headers, url }) => [url, headers.authorization]),
      [
        ["/v1/a", `Bearer ${KEY}`],
        ["/v1/b", `Bearer ${KEY}`],
        ["/v1/c", `Bearer ${placeholder}`]
      ]
    )
  })

  it("writes the authority of the run, and those of the Edge and the system, where programs look", async () => {
    const first = await open()
    const file = first.env["NODE_EXTRA_CA_CERTS"] ?? ""
    const { env } = await open({ environment: { NODE_EXTRA_CA_CERTS: file } })
    const added = readFileSync(env["NODE_EXTRA_CA_CERTS"] ?? "", "utf8")
    assert.strictEqual(added.split("BEGIN CERTIFICATE").length - 1, 2)
    assert.include(added, readFileSync(file, "utf8").trim())
    const whole = readFileSync(env["SSL_CERT_FILE"] ?? "", "utf8")
    assert.include(whole, added)
    assert.isAbove(whole.split("BEGIN CERTIFICATE").length, 20)
    for (const name of ["CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CODEX_CA_CERTIFICATE"])
      assert.strictEqual(env[name], env["SSL_CERT_FILE"])
  })

  it("answers an upgrade to WebSocket with 426, so that clients use requests", async () => {
    const { send } = await open()
    const answer = await send("model.test:443", request("Upgrade: websocket\r\n").replace("close", "upgrade"))
    assert.match(answer, /^HTTP\/1.1 426 /)
  })
})
