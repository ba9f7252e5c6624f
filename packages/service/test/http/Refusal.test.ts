import { errorCodes, errorTable, responses } from "@corral/domain/errors/ErrorTable"
import type { RequestId } from "@corral/domain/identity/Ids"
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { afterEach, assert, describe, it, onTestFinished } from "@effect/vitest"
import { Schema } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { PassThrough } from "node:stream"
import { text } from "node:stream/consumers"
import { vi } from "vitest"
import { refusalBody, refuseRequest, refuseUpgrade, standardHeaders } from "../../src/http/Refusal.ts"

const requestId = "req-1" as RequestId
const FILE = Buffer.alloc(MAX_ATTACHMENT_BYTES + 1)
const PART = 1_048_576
const free = errorCodes.filter(
  (code) =>
    !["schema_validation_failed", "target_offline", "approval_already_resolved", "approval_expired"].includes(
      code
    )
)

describe("refusalBody", () => {
  it.each(free)("says %s as the table does", (code) => {
    const { status, body } = refusalBody({ code }, requestId)
    assert.strictEqual(status, errorTable[code].status)
    const parsed: unknown = JSON.parse(body)
    assert.deepStrictEqual(parsed, { code, message: errorTable[code].message, requestId })
    assert.isTrue(Schema.is(responses(code)[0] ?? Schema.Never)(parsed))
  })

  it("keeps its own sentence and details", () => {
    const details = { issues: [{ path: "after", message: "Expected a seq" }] }
    const { status, body } = refusalBody(
      { code: "schema_validation_failed", message: "No.", details },
      requestId
    )
    assert.strictEqual(status, 422)
    assert.deepStrictEqual(JSON.parse(body), {
      code: "schema_validation_failed",
      message: "No.",
      requestId,
      details
    })
  })
})

describe("standingHeaders", () => {
  it("lets no other origin read and no page leak", () => {
    const headers = standardHeaders(requestId)
    assert.deepInclude(headers, {
      "X-Request-Id": requestId,
      "X-Contract-Version": "2026-06-09",
      "Cache-Control": "no-store",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff"
    })
    assert.isFalse(Object.keys(headers).some((name) => name.toLowerCase().startsWith("access-control-")))
  })
})

describe("refuseRequest", () => {
  afterEach(() => void vi.useRealTimers())

  it("reaches a client that reads only when it has sent the whole of a file that is too large, 20 s later", async () => {
    const server = createServer((_, response) =>
      refuseRequest(response, { code: "payload_too_large" }, requestId)
    )
    await once(server.listen(0, "127.0.0.1"), "listening")
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause()
    const arrived = once(server, "request")
    client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${FILE.length}\r\n\r\n`)
    client.write(FILE.subarray(0, PART))
    await arrived
    vi.advanceTimersByTime(20_000)
    // A write to a connection that is closed would lose what was not read.
    client.on("error", () => undefined)
    for (let at = PART; at < FILE.length; at += PART)
      await new Promise((resolve) => client.write(FILE.subarray(at, at + PART), resolve))
    let answer = ""
    client.on("data", (part) => (answer += part))
    await Promise.race([once(client.resume(), "data"), once(client, "close")])
    client.destroy()
    assert.match(answer, /^HTTP\/1\.1 413 .*"code":"payload_too_large"/s)
  })
})

describe("refuseUpgrade", () => {
  const written = async (code: "unauthorized" | "overloaded" | "permission_denied") => {
    const socket = new PassThrough()
    refuseUpgrade(socket, { code, message: "Nö." }, requestId)
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n")
    const [status = "", ...headers] = head.split("\r\n")
    return { status, headers, body }
  }

  it("is a whole HTTP answer", async () => {
    const { status, headers, body } = await written("permission_denied")
    assert.match(status, /^HTTP\/1\.1 403 /)
    assert.include(headers, `Content-Length: ${Buffer.byteLength(body)}`)
    assert.include(headers, "Content-Type: application/json")
    assert.include(headers, "Connection: close")
    assert.include(headers, `X-Request-Id: ${requestId}`)
    assert.deepStrictEqual(JSON.parse(body), { code: "permission_denied", message: "Nö.", requestId })
  })

  it("asks for a bearer token, and tells when to come back", async () => {
    assert.include((await written("unauthorized")).headers, "WWW-Authenticate: Bearer")
    assert.include((await written("overloaded")).headers, "Retry-After: 1")
  })
})
