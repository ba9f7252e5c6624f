import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { refusedUpgrade } from "@corral/testing/hub/StreamReader"
import { until } from "@corral/testing/time/Until"

const behind = (address: string) => ({ "x-forwarded-for": address })

describe("A Hub behind a trusted proxy", () => {
  const hub = new HubInProcess({
    env: {
      CORRAL_HUB_TRUSTED_PROXIES: "127.0.0.1",
      CORRAL_HUB_SIGN_INS_PER_MINUTE: "5",
      CORRAL_HUB_REQUESTS_PER_SECOND: "20"
    }
  })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const requests = [
    ["GET", "/client/auth/login", undefined, 404],
    ["POST", "/client/auth/device/start", { kind: "cli" }, 200],
    ["POST", "/client/auth/device/token", { deviceCode: "x" }, 401],
    ["GET", "/client/auth/callback?state=x", undefined, 404]
  ] as const

  it.each(requests)("%s %s: limits one client, and no other", async (method, path, body, status) => {
    const address = `198.51.100.${1 + requests.findIndex(([, each]) => each === path)}`
    const ask = (from: string) => hub.client.ask(method, path, { body, headers: behind(from) })
    const statuses: Array<number> = []
    for (let i = 0; i < 7; i++) statuses.push((await ask(`203.0.113.${i}, ${address}`)).status)
    // What is refused for another reason than its number is not counted everywhere.
    const limited = path.includes("callback") ? status : 429
    assert.deepStrictEqual(statuses, [...Array.from({ length: 5 }, () => status), limited, limited])
    assert.strictEqual((await ask("192.0.2.1")).status, status)
  })

  it.each(requests)("%s %s: counts an IPv6 client by its /64 network", async (method, path, body, status) => {
    const network = `2001:db8:0:${1 + requests.findIndex(([, each]) => each === path)}`
    const ask = (from: string) => hub.client.ask(method, path, { body, headers: behind(from) })
    const statuses: Array<number> = []
    for (let i = 1; i <= 7; i++) statuses.push((await ask(`${network}:${i}:${i}::${i}`)).status)
    const limited = path.includes("callback") ? status : 429
    assert.deepStrictEqual(statuses, [...Array.from({ length: 5 }, () => status), limited, limited])
    assert.strictEqual((await ask("2001:db8:1::1")).status, status)
  })

  it.each(["/client/devices/register", "/client/projects"])(
    "%s: refuses a flood from one client, but no request from other clients",
    async (path) => {
      const body = { name: "x", kind: "server", publicKey: "x", joinToken: "x" }
      const method = path.endsWith("register") ? "POST" : "GET"
      const ask = (from: string) =>
        hub.client.ask(method, path, { headers: behind(from), ...(method === "POST" ? { body } : {}) })
      // A slow machine can need several seconds for a flood, in which the limit allows more.
      const isRefused = async () => {
        const flood = await Promise.all(Array.from({ length: 80 }, () => ask("198.51.100.77")))
        return flood.some((answer) => codeOf(answer) === "rate_limited")
      }
      while (!(await isRefused())) continue
      assert.notStrictEqual((await ask("198.51.100.78")).status, 429)
    }
  )

  it("logs the client address of requests refused with 401 or 429, without codes in paths", async () => {
    await hub.client.ask("GET", "/client/auth/me", { headers: behind("198.51.100.90") })
    const refused = await refusedUpgrade(hub.client, "runId=run_01K00000000000000000000000")
    assert.strictEqual(refused.status, 401)
    const lines = () =>
      hub.stderr
        .split("\n")
        .filter((line) => line.includes("198.51.100.90") || line.includes("/client/events"))
    await until(() => Promise.resolve(lines().length >= 2 ? true : undefined), "the lines")
    const text = hub.stderr
    assert.match(text, /refused request/)
    assert.match(text, /status.{1,8}401/)
    assert.match(text, /status.{1,8}429/)
    assert.notInclude(text, "203.0.113.")
  })

  it.each(["localhost", "0.0.0.0/0", "10.0.0.0/40", "127.0.0.1;::1"])(
    "does not start with %j for its proxies",
    async (proxies) => {
      const wrong = new HubProcess({ env: { CORRAL_HUB_TRUSTED_PROXIES: proxies } })
      try {
        assert.notStrictEqual((await wrong.startRefused()).code, 0)
        assert.include(wrong.stderr, "CORRAL_HUB_TRUSTED_PROXIES is not usable")
      } finally {
        await wrong.remove()
      }
    }
  )
})
