import { assert, describe, it } from "@effect/vitest"
import { HubProcess, openHub } from "@corral/testing/hub/HubProcess"

describe("node dist/hub", () => {
  it("serves until SIGTERM, then exits with 0", async () => {
    const hub = await openHub({ embedded: true })
    const health = await hub.client.ask("GET", "/health")
    assert.deepStrictEqual([health.status, health.body], [200, { status: "ok" }])
    // The documents are part of the build.
    for (const path of ["/openapi.json", "/asyncapi.json"])
      assert.strictEqual((await hub.client.ask("GET", path)).status, 200, path)
    assert.deepStrictEqual(await hub.end("SIGTERM"), { code: 0, signal: null })
    assert.strictEqual(hub.stderr, "")
  })

  it.each([
    ["CORRAL_HUB_PORT", "http"],
    ["CORRAL_HUB_HOST", "example.com"],
    ["CORRAL_HUB_PUBLIC_URL", "https://hub.example/path"],
    ["CORRAL_HUB_RETENTION_DAYS", "-1"],
    ["CORRAL_DATABASE_URL", "mysql://root:s3cret-word@localhost/x"]
  ])("does not start with an invalid %s, and says so in one sentence", async (name, value) => {
    const hub = new HubProcess({ env: { [name]: value } })
    try {
      assert.strictEqual((await hub.startRefused()).code, 1)
      assert.match(hub.stderr, new RegExp(`^${name} is not usable: expected .*\\.\\n$`))
      assert.notInclude(hub.stderr, "s3cret")
    } finally {
      await hub.remove()
    }
  })

  it("listens outside loopback only with an https origin", async () => {
    const hub = new HubProcess({ env: { CORRAL_HUB_HOST: "0.0.0.0" } })
    try {
      assert.strictEqual((await hub.startRefused()).code, 1)
      assert.include(hub.stderr, "CORRAL_HUB_PUBLIC_URL")
    } finally {
      await hub.remove()
    }
  })

  it("names the unreachable database without its password", async () => {
    const hub = new HubProcess({
      env: { CORRAL_DATABASE_URL: "postgres://corral:s3cret-word@127.0.0.1:1/x" }
    })
    try {
      assert.strictEqual((await hub.startRefused()).code, 1)
      assert.match(hub.stderr, /database \w+ at \S+ cannot be used: /)
      assert.notInclude(hub.stderr, "s3cret")
    } finally {
      await hub.remove()
    }
  })
})
