/** What every answer of an Edge has in common: its headers, its ids and times, and what it makes of what it does not know. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { join } from "node:path"
import { type Answer, codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { message, sendRaw } from "@corral/testing/http/RawRequest"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({ grants: ["full_access"] })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const upgrade = (target: string, more: ReadonlyArray<string>) =>
  sendRaw(
    edge.port,
    message([
      `GET ${target} HTTP/1.1`,
      `Host: 127.0.0.1:${edge.port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ...more
    ])
  )
const bearer = () => `Authorization: Bearer ${edge.token}`

const version = "2026-06-09"

describe("The standing headers", () => {
  it("are on an upgrade, granted or refused, with the caller's request id", async () => {
    for (const [target, authority, status] of [
      ["/v1/events", bearer(), 101],
      ["/v1/events", "X-None: 1", 401],
      ["/v1/events?after=1", bearer(), 422],
      ["/v1/nowhere", bearer(), 404]
    ] as const) {
      const { headers, status: answered, body } = await upgrade(target, [authority, "X-Request-Id: mine-1"])
      assert.deepStrictEqual(
        [target, answered, headers.get("x-request-id"), headers.get("x-contract-version")],
        [target, status, "mine-1", version]
      )
      if (status !== 101) assert.strictEqual((body as { readonly requestId?: unknown }).requestId, "mine-1")
      const created = await upgrade(target, [authority, "X-Request-Id: not mine"])
      assert.match(created.headers.get("x-request-id") ?? "", /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
    }
  })

  it("are on server-sent events, content and deletions", async () => {
    const run = await client.create("/artifact a.txt text/plain hello")
    const log = await client.log(run.id)
    const artifactId = String(log.find(({ type }) => type === "run.artifact.ready")?.payload["artifactId"])
    const preview = await client.ask("POST", "/v1/previews", {
      body: { workspace: "ws", title: "All of it", source: { kind: "folder", path: "" } }
    })
    const { id } = preview.body as { readonly id: string }
    for (const [method, target, accept, status] of [
      ["GET", `/v1/runs/${run.id}/events`, "text/event-stream", 200],
      ["GET", `/v1/artifacts/${artifactId}/content`, "*/*", 200],
      ["DELETE", `/v1/previews/${id}`, "*/*", 204]
    ] as const) {
      const answer = await fetch(edge.url + target, {
        method,
        headers: { authorization: `Bearer ${edge.token}`, accept, "x-request-id": "mine-2" }
      })
      await answer.arrayBuffer()
      assert.deepStrictEqual(
        [target, answer.status, answer.headers.get("x-request-id"), answer.headers.get("x-contract-version")],
        [target, status, "mine-2", version]
      )
    }
  })
})

describe("A W3C traceparent", () => {
  const seen = async (traceparent: string | undefined): Promise<unknown> => {
    const headers = traceparent === undefined ? {} : { traceparent }
    const answer = await client.tryCreate("/shell echo [$TRACEPARENT]", "full_access", {}, headers)
    assert.strictEqual(answer.status, 201, answer.text)
    const log = await client.log((answer.body as { readonly id: string }).id)
    return log.find(({ type }) => type === "run.tool.result")?.payload["output"]
  }

  it("of the request that creates a run is in its runtime's environment", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert.include(String(await seen(traceparent)), `[${traceparent}]`)
  })

  it("that is none is left out", async () => {
    for (const none of [
      undefined,
      "$(id)",
      "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"
    ]) {
      assert.include(String(await seen(none)), "[]", none)
    }
  })
})

describe("What an Edge does not know", () => {
  it("is ignored in a query, over HTTP and in an upgrade", async () => {
    const run = await client.create("/say hello")
    const whole = await client.log(run.id)
    for (const target of [
      "/health?x=1",
      "/v1/agents?limit=0&x",
      "/v1/workspaces?x=1",
      `/v1/runs?x=1&limit=1`,
      `/v1/runs/${run.id}?x=1`,
      `/v1/runs/${run.id}/events?x=1`,
      `/v1/permissions?x=1&y=2`
    ]) {
      assert.strictEqual((await client.ask("GET", target)).status, 200, target)
    }
    const answer = await upgrade(`/v1/events?runId=${run.id}&after=${whole.length}&x=1`, [bearer()])
    assert.strictEqual(answer.status, 101)
  })

  it("is left out of a body", async () => {
    const answer = await client.tryCreate("/say hello", "ask", { later: { version: 2 } })
    assert.strictEqual(answer.status, 201)
    assert.notProperty(answer.body, "later")
  })
})

describe("A refusal", () => {
  it("of a method names those that are taken", async () => {
    for (const [method, target, allow] of [
      ["PUT", "/v1/runs", "GET, POST"],
      ["DELETE", "/v1/runs/run_00000000000000000000000000", "GET"],
      ["GET", "/v1/runs/run_00000000000000000000000000/cancel", "POST"],
      ["PATCH", "/v1/previews/prv_00000000000000000000000000", "DELETE, GET"],
      ["POST", "/health", "GET"]
    ] as const) {
      const answer = await client.ask(method, target)
      assert.deepStrictEqual([target, answer.status, codeOf(answer)], [target, 405, "method_not_allowed"])
      assert.strictEqual(answer.headers.get("allow")?.split(", ").toSorted().join(", "), allow, target)
    }
  })

  it("that time may mend says when to try again", async () => {
    const separateEdge = await openEdgeInProcess({
      env: { CORRAL_EDGE_MAX_RUNS: "1", CORRAL_EDGE_MAX_QUEUED: "0" }
    })
    await separateEdge.client.create("/sleep 60000")
    const full = await separateEdge.client.tryCreate("/say too many")
    assert.deepStrictEqual([full.status, codeOf(full)], [503, "overloaded"])
    assert.match(full.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
  })

  it("of one request too many in a second is rate_limited, and does not limit other callers", async () => {
    const separateEdge = await openEdgeInProcess({ env: { CORRAL_EDGE_REQUESTS_PER_SECOND: "5" } })
    const many = (token: string | null) =>
      Promise.all(Array.from({ length: 30 }, () => separateEdge.client.ask("GET", "/v1/runs", { token })))
    const assertLimited = (answers: ReadonlyArray<Answer>, status: number) => {
      const limited = answers.filter((answer) => answer.status === 429)
      assert.isAtLeast(limited.length, 10)
      assert.strictEqual(answers.filter((answer) => answer.status === status).length, 30 - limited.length)
      for (const answer of limited) {
        assert.strictEqual(codeOf(answer), "rate_limited")
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      }
    }
    assertLimited(await many("wrong"), 401)
    assert.strictEqual((await separateEdge.client.ask("GET", "/v1/runs")).status, 200)
    assertLimited(await many(separateEdge.token), 200)
    const requested = message([
      "GET /v1/events HTTP/1.1",
      `Host: 127.0.0.1:${separateEdge.port}`,
      `Authorization: Bearer ${separateEdge.token}`,
      "Connection: Upgrade",
      "Upgrade: websocket"
    ])
    const upgrades = await Promise.all(
      Array.from({ length: 30 }, () => sendRaw(separateEdge.port, requested))
    )
    assertLimited(upgrades, 422)
  })

  it("for a defect is internal, with nothing of its cause", async () => {
    const separateEdge = await openEdgeInProcess()
    const run = await separateEdge.client.create("/say hello")
    await separateEdge.client.log(run.id)
    await separateEdge.stop()
    const db = new Database(join(separateEdge.home, "edge.db"))
    db.prepare("UPDATE runs SET snapshot = ? WHERE id = ?").run('{"secret": "hunter2"}', run.id)
    db.close()
    await separateEdge.start()
    const answer = await separateEdge.client.ask("GET", `/v1/runs/${run.id}`)
    assert.deepStrictEqual(Object.keys(answer.body as object).toSorted(), ["code", "message", "requestId"])
    assert.deepStrictEqual([answer.status, codeOf(answer)], [500, "internal"])
    assert.notMatch(answer.text, /hunter2|JSON|SyntaxError|snapshot/)
    assert.strictEqual((await separateEdge.client.ask("GET", "/v1/health")).status, 200)
  })
})

describe("Ids and times", () => {
  const ulid = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
  const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

  it("have the shape that the contract gives them, and ids sort by time", async () => {
    const script = "/artifact a.txt text/plain hello\n/ask"
    const first = await client.create(script)
    const second = await client.create("/say later")
    assert.isBelow(first.id.localeCompare(second.id), 0)
    const reader = await client.follow({ runId: first.id })
    const requested = await reader.event("run.approval.requested")
    const approval = await client.approval(String(requested.payload["approvalId"]))
    await client.decide(first.id, approval.id, "allow")
    await reader.ended
    const preview = await client.ask("POST", "/v1/previews", {
      body: { workspace: "ws", title: "All of it", source: { kind: "folder", path: "" } }
    })
    const created = reader.events.find(({ type }) => type === "run.artifact.ready")
    const ids = {
      run: first.id,
      evt: reader.events[0]?.id,
      apr: approval.id,
      art: created?.payload["artifactId"],
      prv: (preview.body as { readonly id: string }).id,
      req: preview.headers.get("x-request-id")
    }
    for (const [prefix, id] of Object.entries(ids))
      assert.match(String(id), new RegExp(`^${prefix}_${ulid}$`))
    const { createdAt, endedAt, updatedAt } = await client.run(first.id)
    const { expiresAt, requestedAt, resolvedAt } = await client.approval(approval.id)
    const times = [createdAt, endedAt, updatedAt, expiresAt, requestedAt, resolvedAt]
    for (const time of [...times, ...reader.events.map((event) => event.createdAt)])
      assert.match(String(time), iso)
    assert.deepStrictEqual(
      reader.events.map(({ id }) => id),
      reader.events.map(({ id }) => id).toSorted()
    )
  })
})
