import { errorCodes, errorTable, responses } from "@corral/domain/errors/ErrorTable"
import type { RequestId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { PassThrough } from "node:stream"
import { text } from "node:stream/consumers"
import { refusalBody, refuseUpgrade, standardHeaders } from "../../src/http/Refusal.ts"

const requestId = "req-1" as RequestId
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
