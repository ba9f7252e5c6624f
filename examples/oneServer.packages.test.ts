/**
 * A Hub, a Gateway and an Edge in one server of another program, on packed packages: a sign-in, a device that joins, a run with its events, a
 * message from a chat. Everything is below its path.
 */
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { freePort } from "@corral/testing/postgres/PostgresServer"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { APP, KEY, TENANT, TOKEN } from "@corral/testing/gateway/FakeFeishu"
import { FakePlatform, SECRET } from "@corral/testing/gateway/FakePlatform"
import { join as joinDevice } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { WebSocket } from "ws"
import { copyExamples, serveExample, type ServedExample } from "../scripts/pack/ServedExample.ts"

const HUB = "/corral/hub"
const EDGE = "/corral/edge"
const GATEWAY = "/corral/gateway"

let outside: string
beforeAll(() => {
  outside = copyExamples(inject("packages").folder)
})

const serve = async (fake: FakePlatform) => {
  const databaseUrl = await makeDatabase(await sharedServer(), { prepared: false })
  onTestFinished(() => dropDatabase(databaseUrl))
  const port = await freePort()
  const served = await serveExample(outside, "one-server", {
    port,
    path: `${EDGE}/health/live`,
    env: {
      CORRAL_DATABASE_URL: databaseUrl,
      CORRAL_HUB_DEV_SIGN_IN: "1",
      CORRAL_FEISHU_APP_ID: APP,
      CORRAL_FEISHU_APP_SECRET: SECRET,
      CORRAL_FEISHU_DOMAIN: fake.url,
      CORRAL_FEISHU_ENCRYPT_KEY: KEY,
      CORRAL_FEISHU_VERIFICATION_TOKEN: TOKEN,
      CORRAL_FEISHU_TENANTS: TENANT
    }
  })
  fake.gateway = served.url + GATEWAY
  const [home = ""] = served.output().split("\n")
  return { served, home }
}

/** Signs in as a browser does. Returns a client with the session's cookie. */
const signIn = async ({ url }: ServedExample) => {
  const browser = new Browser()
  const visited: Array<string> = []
  let at = `${url}${HUB}/client/auth/login?returnTo=%2Fdevice`
  let response = await browser.send(at)
  while (response.status >= 300 && response.status < 400) {
    at = new URL(locationOf(response), at).href
    visited.push(at)
    response = await browser.send(at)
    if (response.status === 200 && at.includes("/interaction/"))
      response = await browser.send(at, { method: "POST", body: new URLSearchParams({ name: "Ada" }) })
  }
  const ask = async <A>(method: string, path: string, body?: unknown): Promise<A> => {
    const answer = await browser.send(url + HUB + path, {
      method,
      headers: {
        origin: url,
        "x-csrf-token": browser.cookies(url).get("__Secure-corral-csrf") ?? "",
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    assert.isBelow(answer.status, 300, `${method} ${path}: ${text}`)
    return JSON.parse(text) as A
  }
  return { ask, browser, page: at, visited }
}

interface Item {
  readonly id: string
}

/** Joins the Edge of this home to the Hub, and shares it with a new project. */
const joinEdge = async (
  ask: Awaited<ReturnType<typeof signIn>>["ask"],
  { url }: ServedExample,
  home: string
) => {
  const { token } = await ask<{ readonly token: string }>("POST", "/client/devices/join-tokens", {})
  await joinDevice(home, url + HUB, token)
  const project = await ask<Item>("POST", "/client/projects", { name: "Atlas", visibility: "private" })
  const { items } = await ask<{ readonly items: ReadonlyArray<Item & { readonly state: string }> }>(
    "GET",
    "/client/devices"
  )
  const targetId = items[0]?.id ?? ""
  await ask("PATCH", `/client/devices/${targetId}`, { sharedWith: [project.id] })
  await until(
    async () =>
      (await ask<{ readonly state: string }>("GET", `/client/devices/${targetId}`)).state === "online" ||
      undefined,
    "the device online",
    30_000
  )
  await ask("POST", `/client/projects/${project.id}/workspaces`, { targetId, workspace: "here" })
  return { projectId: project.id, targetId }
}

/** Types of the events that a WebSocket receives until the server closes it. */
const followed = async (url: string, headers: Record<string, string> = {}) => {
  const socket = new WebSocket(url.replace("http", "ws"), { headers })
  const types: Array<string> = []
  socket.on("message", (data) => types.push((JSON.parse(String(data)) as { readonly type: string }).type))
  const [code] = (await once(socket, "close")) as [number]
  return { code, types }
}

const chatMessage = async (fake: FakePlatform) => {
  const ada = fake.person("ou_ada", "Ada")
  const chat = fake.direct(ada)
  assert.isTrue(await fake.sendMessage(ada, chat, "hello").taken)
  return fake.until(() =>
    fake.messages(chat).find(({ content }) => JSON.stringify(content).includes("/link/"))
  )
}

describe("one server", () => {
  it("has a Hub, a Gateway and an Edge below their paths, next to its own page and health", async () => {
    const fake = await FakePlatform.open()
    onTestFinished(() => fake.close())
    const { home, served } = await serve(fake)
    const { request, url } = served
    assert.strictEqual(await (await request("/")).text(), "my own page")
    assert.strictEqual(await (await request("/health")).text(), "my own health")
    for (const path of [HUB, GATEWAY, EDGE]) {
      const health = await request(`${path}/health`)
      const { status } = (await health.json()) as { readonly status: string }
      assert.deepStrictEqual([path, health.status, status], [path, 200, "ok"])
      // The packages contain the documents of their services.
      const documents = await Promise.all(
        ["openapi", "asyncapi"].map((kind) => request(`${path}/${kind}.json`))
      )
      assert.deepStrictEqual(
        documents.map(({ status }) => status),
        path === EDGE ? [401, 401] : [200, 200]
      )
      const unknown = await request(`${path}/nothing/here`)
      const { code, requestId } = (await unknown.json()) as Record<string, string>
      assert.strictEqual(requestId, unknown.headers.get("x-request-id") ?? "none")
      assert.include(["not_found", "unauthorized"], code)
    }
    assert.strictEqual((await request("/v1/runs")).status, 404)
    assert.strictEqual((await request("/client/projects")).status, 404)

    // Sign-in: addresses and cookies have the path.
    const { ask, browser, page, visited } = await signIn(served)
    assert.strictEqual(page, `${url}${HUB}/device`)
    assert.isTrue(visited.some((at) => at.startsWith(`${url}${HUB}/client/auth/callback?`)))
    for (const name of ["__Secure-corral", "__Secure-corral-csrf", "__Secure-corral-login"])
      assert.match(browser.setCookies.get(name) ?? "", /; Path=\/corral\/hub;/, name)
    assert.isFalse([...browser.setCookies.keys()].some((name) => name.startsWith("__Host-")))

    // A device that joins, a run, its events at both services.
    const { projectId, targetId } = await joinEdge(ask, served, home)
    const task = await ask<Item>("POST", "/web/agent-tasks", {
      projectId,
      targetId,
      workspace: "here",
      agentId: "scripted",
      mode: "read_only",
      input: { text: "/say Hello" }
    })
    const runId = await until(
      async () => (await ask<{ readonly runId?: string }>("GET", `/client/tasks/${task.id}`)).runId,
      "the run"
    )
    const cookie = [...browser.cookies(url)].map(([name, value]) => `${name}=${value}`).join("; ")
    const atHub = await followed(`${url}${HUB}/client/events?runId=${runId}`, { cookie, origin: url })
    const token = readFileSync(join(home, "edge.token"), "utf8").trim()
    const atEdge = await followed(`${url}${EDGE}/v1/events?runId=${runId}&token=${token}`)
    for (const { code, types } of [atHub, atEdge])
      assert.deepStrictEqual([code, types[0], types.at(-1)], [1000, "run.created", "run.completed"])

    // A message from a chat, whose answer links to the Hub.
    const { content } = await chatMessage(fake)
    const link = /http[^"\\\s)]*\/link\/[\w-]+/.exec(JSON.stringify(content))?.[0] ?? ""
    assert.isTrue(link.startsWith(`${url}${HUB}/link/`), link)
    const linkPage = await (await fetch(link)).text()
    assert.include(linkPage, `const hub = "${HUB}"`)
  })

  it("ends within seconds although a link, a WebSocket and a response are open", async () => {
    const fake = await FakePlatform.open()
    onTestFinished(() => fake.close())
    const { home, served } = await serve(fake)
    const { ask } = await signIn(served)
    await joinEdge(ask, served, home)
    const token = readFileSync(join(home, "edge.token"), "utf8").trim()
    const authorization = `Bearer ${token}`
    const created = await served.request(`${EDGE}/v1/runs`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ workspace: "here", agentId: "scripted", mode: "ask", input: { text: "/hang" } })
    })
    const { id } = (await created.json()) as Item
    const following = followed(`${served.url}${EDGE}/v1/events?token=${token}`)
    const stream = await fetch(`${served.url}${EDGE}/v1/runs/${id}/events`, {
      headers: { authorization, accept: "text/event-stream" }
    })
    assert.strictEqual(stream.headers.get("content-type"), "text/event-stream")
    assert.isBelow(await served.stop(), 6_000)
    assert.strictEqual((await following).code, 1001)
  })
})
