/**
 * What went wrong in other local servers, tried on this one over real sockets: one test for each row of the table in docs/security.md, which
 * also names the rows that are not about a local server.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { createServer, request as requestOver } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type Answer, assertEdgeAnswer, codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { message, sendAndHold, sendRaw } from "@corral/testing/http/RawRequest"
import { within } from "@corral/testing/time/Until"

let edge: EdgeProcess
/** A run that has ended: something to be read. */
let runId: string
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
  runId = (await edge.client.create("/say private")).id
  await edge.client.log(runId)
})
afterAll(() => edge.remove())

const evil = "Origin: https://evil.example"
const ours = () => `Host: 127.0.0.1:${edge.port}`
const bearer = () => `Authorization: Bearer ${edge.token}`
const upgrade = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
]

interface Operation {
  readonly method: string
  readonly path: string
}
// Written by our own generator.
const published = JSON.parse(
  readFileSync(new URL("../../../../openapi/edge.json", import.meta.url), "utf8")
) as { readonly paths: Readonly<Record<string, object>> }
const operations: ReadonlyArray<Operation> = Object.entries(published.paths).flatMap(([template, methods]) =>
  Object.keys(methods).map((method) => ({
    method: method.toUpperCase(),
    path: template.replaceAll(/\{[^}]+\}/g, "some")
  }))
)
const isHealth = ({ path }: Operation): boolean => ["/health", "/v1/health", "/health/live"].includes(path)

/** The answer to a head and a body, judged like every other. */
const send = async (
  method: string,
  target: string,
  head: ReadonlyArray<string>,
  body = ""
): Promise<Answer> => {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const answer = await sendRaw(edge.port, message([`${method} ${target} HTTP/1.1`, ...head, ...length], body))
  assertEdgeAnswer(method, target, answer)
  assert.isNull(answer.headers.get("location"))
  assert.notInclude(answer.text, edge.token)
  assert.notInclude(answer.text, "private")
  return answer
}

const assertRefused = async (
  [status, code]: readonly [number, string],
  method: string,
  target: string,
  head: ReadonlyArray<string>,
  body?: string
): Promise<void> => {
  const answer = await send(method, target, head, body)
  const what = [method, target, ...head].join(" | ").replaceAll(edge.token, "…")
  assert.deepStrictEqual([what, answer.status, codeOf(answer)], [what, status, code])
}

const itemsOf = async (target: string): Promise<unknown> => {
  const { body } = await edge.client.ask("GET", target)
  return (body as { readonly items?: unknown }).items
}

const forbidden = [403, "permission_denied"] as const
const unauthorized = [401, "unauthorized"] as const

const upgradePaths = () => [
  `/v1/events?runId=${runId}`,
  `/v1/events?runId=${runId}&token=${edge.token}`,
  "/v1/events",
  "/v1/runs",
  "/health",
  "/",
  "/terminal",
  "/nowhere?x=1"
]

/** Names under which a page could reach a loopback server that does not look at them. */
const foreignHosts = () => [
  `evil.example:${edge.port}`,
  "evil.example",
  `127.0.0.1.evil.example:${edge.port}`,
  `localhost.evil.example:${edge.port}`,
  `localhost.:${edge.port}`,
  `127.0.0.1.:${edge.port}`,
  "127.0.0.1",
  `127.0.0.1:${edge.port + 1}`
]

describe("A local server", () => {
  it("took a WebSocket from any web page: CVE-2025-52882, CVE-2023-26114", async () => {
    for (const target of [`/v1/events?runId=${runId}`, `/v1/events?runId=${runId}&token=${edge.token}`]) {
      for (const authority of [[], [bearer()]]) {
        await assertRefused(forbidden, "GET", target, [ours(), evil, ...authority, ...upgrade])
      }
    }
  })

  it("guarded one upgrade path and not the others: CVE-2026-44211", async () => {
    for (const target of upgradePaths()) {
      await assertRefused(forbidden, "GET", target, [ours(), evil, ...upgrade])
      await assertRefused(forbidden, "GET", target, [ours(), evil, bearer(), ...upgrade])
      if (!target.includes("token=") && target !== "/health")
        await assertRefused(unauthorized, "GET", target, [ours(), ...upgrade])
    }
    for (const target of ["/v1/runs", "/", "/terminal", "/nowhere", "/health"]) {
      const { status } = await send("GET", target, [ours(), bearer(), ...upgrade])
      assert.strictEqual(status, 404, `${target} takes no upgrade`)
    }
  })

  it("asked for no token, and let every page read its answers: CVE-2026-22812", async () => {
    assert.isAbove(operations.length, 20)
    for (const operation of operations) {
      const { method, path } = operation
      if (!isHealth(operation)) await assertRefused(unauthorized, method, path, [ours()])
      await assertRefused(forbidden, method, path, [ours(), evil, bearer()])
      const { headers } = await edge.client.ask(method, path, method === "POST" ? { body: {} } : {})
      const names = [...headers.keys()].filter((name) => name.startsWith("access-control-"))
      assert.deepStrictEqual([path, names], [path, []])
    }
  })

  it("answered under the address 0.0.0.0, to which a page could send commands: CVE-2025-49596", async () => {
    const body = JSON.stringify({ workspace: "ws", agentId: "scripted", mode: "ask", input: { text: "hi" } })
    for (const name of ["0.0.0.0", "[::]", "0"]) {
      const host = `Host: ${name}:${edge.port}`
      await assertRefused(forbidden, "GET", "/v1/runs", [host])
      await assertRefused(forbidden, "POST", "/v1/runs", [host, "Content-Type: application/json"], body)
    }
    await assertRefused(unauthorized, "POST", "/v1/runs", [ours(), "Content-Type: application/json"], body)
  })

  it("did not look at the Host: CVE-2025-66414, CVE-2025-66416, CVE-2026-63118", async () => {
    for (const operation of operations) {
      const head = [`Host: evil.example:${edge.port}`, bearer()]
      await assertRefused(forbidden, operation.method, operation.path, head)
    }
  })

  it("let a rebound name read the history of a conversation: CVE-2025-59956", async () => {
    const events = `/v1/runs/${runId}/events`
    assert.strictEqual((await edge.client.ask("GET", events)).status, 200)
    for (const host of foreignHosts()) {
      for (const target of [events, `/v1/runs/${runId}`, `/v1/runs/${runId}/result`]) {
        await assertRefused(forbidden, "GET", target, [`Host: ${host}`, bearer()])
      }
      await assertRefused(forbidden, "GET", `/v1/events?runId=${runId}`, [
        `Host: ${host}`,
        bearer(),
        ...upgrade
      ])
    }
  })

  it("was fooled by names that look like its own: CVE-2024-28224", async () => {
    for (const target of ["/v1/runs", "/health"]) {
      for (const host of foreignHosts()) {
        await assertRefused(forbidden, "GET", target, [`Host: ${host}`, bearer()])
      }
      await assertRefused(forbidden, "GET", target, [bearer()])
      await assertRefused(forbidden, "GET", target, [ours(), "Host: evil.example", bearer()])
      await assertRefused(forbidden, "GET", target, ["Host: evil.example", ours(), bearer()])
      await assertRefused(forbidden, "GET", `http://evil.example${target}`, [ours(), bearer()])
      await assertRefused(forbidden, "GET", `http://127.0.0.1:${edge.port}${target}`, [ours(), bearer()])
    }
  })

  it("could be pointed at another control server: CVE-2022-41924", async () => {
    const workspaces = () => itemsOf("/v1/workspaces")
    const before = await workspaces()
    const writes = operations.filter(({ method }) => method !== "GET").map(({ path }) => path)
    assert.deepStrictEqual(
      writes.filter((path) => /setting|config|hub|token|origin|workspaces/.test(path)),
      [],
      "nothing published changes the Edge's configuration at its start"
    )
    for (const path of ["/settings", "/v1/settings", "/v1/config", "/v1/hub", "/v1/workspaces/ws"]) {
      for (const method of ["POST", "PUT", "PATCH"]) {
        const answer = await edge.client.ask(method, path, { body: { hubUrl: "https://evil.example" } })
        assert.include([404, 405], answer.status, `${method} ${path}`)
      }
    }
    assert.deepStrictEqual(await workspaces(), before)
  })

  it("told every origin that it may: CVE-2025-24010, CVE-2025-48068", async () => {
    for (const { path } of operations) {
      const requestHeaders = [
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization"
      ]
      await assertRefused(forbidden, "OPTIONS", path, [ours(), evil, ...requestHeaders])
    }
  })

  it("took a token that was there for one that was right: CVE-2026-28472", async () => {
    for (const token of ["x", "", "undefined", "null", `${edge.token}x`, edge.token.slice(0, -1)]) {
      const target = `/v1/events?runId=${runId}&token=${token}`
      await assertRefused(unauthorized, "GET", target, [ours(), ...upgrade])
      const head = [ours(), `Authorization: Bearer ${token}`]
      await assertRefused(unauthorized, "GET", "/v1/runs", head)
      await assertRefused(unauthorized, "GET", `/v1/events?token=${edge.token}`, [...head, ...upgrade])
      await assertRefused(unauthorized, "GET", "/health", head)
    }
  })

  it("kept sockets alive whose token had been replaced: CVE-2026-34503, CVE-2026-41356", async () => {
    const separateEdge = await openEdgeInProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "100" } })
    const run = await separateEdge.client.create("/stream 1000000 100 64")
    const reader = await separateEdge.client.follow({ runId: run.id })
    await reader.count(5)
    const [before, earlier] = [separateEdge.token, separateEdge.client]
    // As docs/security.md says: delete the file and start again.
    rmSync(join(separateEdge.home, "edge.token"))
    await separateEdge.stop()
    await reader.ended
    await separateEdge.start()
    assert.notStrictEqual(separateEdge.token, before)
    assert.strictEqual((await separateEdge.client.ask("GET", "/v1/runs", { token: before })).status, 401)
    const again = separateEdge.client.follow({ runId: run.id })
    assert.strictEqual((await (await again).ended).code, 1000)
    const answer = await sendRaw(
      separateEdge.port,
      message([
        `GET /v1/events?token=${earlier.token} HTTP/1.1`,
        `Host: 127.0.0.1:${separateEdge.port}`,
        ...upgrade
      ])
    )
    assert.strictEqual(answer.status, 401)
  })

  it("held upgrades of strangers without end: CVE-2026-41399", async () => {
    const half = ["GET /v1/events HTTP/1.1", ours(), ...upgrade].join("\r\n")
    const closing: Array<Promise<unknown>> = []
    for (let batch = 0; batch < 20; batch++) {
      const opening = Array.from({ length: 100 }, () => sendAndHold(edge.port, half))
      for (const socket of await Promise.all(opening)) {
        // Only a socket that is read sees its end.
        socket.resume()
        closing.push(once(socket, "close"))
      }
    }
    const run = await edge.client.create("/say served")
    const events = await edge.client.log(run.id)
    assert.strictEqual(events.at(-1)?.type, "run.completed", "a real client is served meanwhile")
    await within(Promise.all(closing), 20_000, "the end of what never sent its headers")
  })

  it("trusted a request because it came through loopback: CVE-2026-29613", async () => {
    const proxy = createServer((request, response) => {
      const headers = {
        ...request.headers,
        host: `127.0.0.1:${edge.port}`,
        "x-forwarded-for": "127.0.0.1",
        "x-real-ip": "127.0.0.1",
        forwarded: "for=127.0.0.1"
      }
      const onward = requestOver(
        { host: "127.0.0.1", port: edge.port, path: request.url, method: request.method, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 0, answer.headers)
          answer.pipe(response)
        }
      )
      request.pipe(onward)
    })
    proxy.listen(0, "127.0.0.1")
    await once(proxy, "listening")
    try {
      const { port } = proxy.address() as AddressInfo
      for (const target of ["/v1/runs", `/v1/runs/${runId}/events`, "/v1/agents"]) {
        const answer = await fetch(`http://127.0.0.1:${port}${target}`)
        assert.strictEqual(answer.status, 401, target)
        await answer.text()
      }
      const health = await (await fetch(`http://127.0.0.1:${port}/v1/health`)).json()
      assert.deepStrictEqual(Object.keys(health as object).toSorted(), ["instanceId", "status"])
    } finally {
      proxy.close()
      proxy.closeAllConnections()
    }
  })

  it("ran what a form of a web page had posted: CVE-2026-46409", async () => {
    const runs = () => itemsOf("/v1/runs?limit=200")
    const before = await runs()
    const file = join(edge.workspace, "pwned")
    const input = { text: `/shell touch ${file}` }
    const body = JSON.stringify({ workspace: "ws", agentId: "scripted", mode: "auto_edit", input })
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x"
    ]) {
      const head = [ours(), `Content-Type: ${type}`]
      await assertRefused(unauthorized, "POST", "/v1/runs", head, body)
      await assertRefused([415, "unsupported_media_type"], "POST", "/v1/runs", [...head, bearer()], body)
      await assertRefused(forbidden, "POST", "/v1/runs", [...head, "Origin: null", bearer()], body)
    }
    await assertRefused([415, "unsupported_media_type"], "POST", "/v1/runs", [ours(), bearer()], body)
    assert.deepStrictEqual(await runs(), before)
    assert.isFalse(existsSync(file))
  })

  it("trusted every page served on another port of the machine: CVE-2026-111922", async () => {
    for (const origin of [
      "http://localhost:1",
      "http://127.0.0.1:1",
      `http://localhost:${edge.port}`,
      `http://127.0.0.1:${edge.port}`,
      "http://[::1]:3000",
      "null"
    ]) {
      const head = [ours(), `Origin: ${origin}`, bearer()]
      await assertRefused(forbidden, "GET", "/v1/runs", head)
      await assertRefused(forbidden, "GET", `/v1/events?runId=${runId}`, [...head, ...upgrade])
    }
  })

  it("sent a person on with the token: CVE-2024-22421", async () => {
    for (const target of [
      "//evil.example/v1/runs",
      "/\\evil.example",
      "/%2f%2fevil.example",
      "/?return_to=https://evil.example",
      "/v1"
    ]) {
      const { headers, status } = await send("GET", target, [ours(), bearer()])
      assert.include([404, 422], status, target)
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
    }
    assert.notInclude(edge.stderr, edge.token, "and no log holds it")
  })
})
