/** What an Edge answers to bytes that no HTTP client would send, and to clients that leave it waiting. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { assertEdgeAnswer, codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { message, sendAndHold, sendRaw } from "@corral/testing/http/RawRequest"
import { within } from "@corral/testing/time/Until"
import { once } from "node:events"
import { connect } from "node:net"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeProcess()
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const good = { workspace: "ws", agentId: "scripted", mode: "ask", input: { text: "/say hello" } }

describe("Bytes that no client would send", () => {
  const raw = async (
    lines: ReadonlyArray<string>,
    status: number,
    code: string,
    body: string | Iterable<string> = ""
  ) => {
    const head = message(lines)
    const answer = await sendRaw(edge.port, typeof body === "string" ? head + body : [head, ...body])
    assertEdgeAnswer(lines[0]?.split(" ")[0] ?? "", "/v1/runs", answer)
    const what = lines.join(" | ").replace(edge.token, "…")
    assert.deepStrictEqual([what, answer.status, codeOf(answer)], [what, status, code])
    assert.notInclude(answer.text, edge.token)
  }
  const host = () => `Host: 127.0.0.1:${edge.port}`
  const bearer = () => `Authorization: Bearer ${edge.token}`
  const post = () => ["POST /v1/runs HTTP/1.1", host(), bearer(), "Content-Type: application/json"]

  it("with another server's name are refused", async () => {
    const get = "GET /v1/runs HTTP/1.1"
    for (const lines of [
      [get, "Host: evil", bearer()],
      [get, `Host: evil:${edge.port}`, bearer()],
      [get, `Host: 127.0.0.1:${edge.port}.evil.example`, bearer()],
      [get, "Host: 127.0.0.1", bearer()],
      [get, "Host: ", bearer()],
      [get, host(), "Host: evil", bearer()],
      [get, host(), host(), bearer()],
      [`GET http://evil.example/v1/runs HTTP/1.1`, host(), bearer()],
      [`GET http://127.0.0.1:${edge.port}/v1/runs HTTP/1.1`, host(), bearer()],
      ["OPTIONS * HTTP/1.1", host(), bearer()]
    ]) {
      await raw(lines, 403, "permission_denied")
    }
  })

  it("that are no HTTP are refused", async () => {
    await raw(["hello"], 422, "schema_validation_failed")
  })

  it("without a host are refused with an error object as well", async () => {
    const answer = await sendRaw(edge.port, message(["GET /v1/runs HTTP/1.1", bearer()]))
    assert.isAtLeast(answer.status, 400)
    assertEdgeAnswer("GET", "/v1/runs", answer)
  })

  it("with a body over 1 MiB are refused, told or found out", async () => {
    await raw([...post(), "Content-Length: 1048577"], 413, "payload_too_large")
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`
    await raw(
      [...post(), "Transfer-Encoding: chunked"],
      413,
      "payload_too_large",
      Array.from({ length: 18 }, () => chunk)
    )
  })

  it("with a body of 1 MiB exactly are read", async () => {
    const body = JSON.stringify(good)
    const whole = body + " ".repeat(1_048_576 - body.length)
    assert.strictEqual((await client.ask("POST", "/v1/runs", { body: whole })).status, 201)
  })

  it("with headers over 16 KiB are refused", async () => {
    await raw(["GET /v1/runs HTTP/1.1", host(), `X-Long: ${"x".repeat(20_000)}`], 413, "payload_too_large")
  })

  it("that ask for nothing further are no harm: 2,000 half-open upgrades", async () => {
    const half = [
      "GET /v1/events HTTP/1.1",
      host(),
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    ].join("\r\n")
    const whole = `${half}\r\n${bearer()}\r\n\r\n`
    const held = []
    const before = edge.memory
    for (let batch = 0; batch < 20; batch++) {
      const opening = Array.from({ length: 100 }, (_, i) =>
        sendAndHold(edge.port, i % 2 === 0 ? half : whole)
      )
      held.push(...(await Promise.all(opening)))
    }
    const run = await client.create("/say served")
    const events = await client.log(run.id)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    const grown = Math.round((edge.memory - before) / 1e6)
    console.log(`2,000 half-open upgrades: the Edge grew by ${grown} MB`)
    for (const socket of held) socket.destroy()
    assert.strictEqual((await client.ask("GET", "/v1/health")).status, 200)
    assert.isBelow(grown, 200)
  })

  it("hears out a body that it refuses, so that the answer is not lost under it", async () => {
    const socket = connect(edge.port, "127.0.0.1")
    const answer = new Promise<string>((resolve, reject) => {
      let text = ""
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      socket.once("end", () => resolve(text))
      socket.once("error", reject)
    })
    const piece = "x".repeat(65_536)
    const length = 32 * piece.length
    socket.write(
      message([
        "POST /v1/runs HTTP/1.1",
        `Host: 127.0.0.1:${edge.port}`,
        `Authorization: Bearer ${edge.token}`,
        "Content-Type: application/json",
        `Content-Length: ${length}`
      ])
    )
    // The whole answer is there before the body is.
    await within(once(socket, "data"), 5_000, "the answer")
    for (let sent = 0; sent < length; sent += piece.length)
      await new Promise<void>((resolve, reject) => {
        socket.write(piece, (error) => (error ? reject(error) : setImmediate(resolve)))
      })
    const text = await within(answer, 5_000, "the answer")
    assert.match(text, /^HTTP\/1\.1 413 [^]*"code":"payload_too_large"/)
  })
})
