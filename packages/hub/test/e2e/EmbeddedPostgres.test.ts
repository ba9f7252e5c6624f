import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { until, within } from "@corral/testing/time/Until"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { hubDatabaseLayer } from "../../src/store/Database.ts"
import { HubProcess, openHub } from "@corral/testing/hub/HubProcess"

/** Process of the server in this folder. */
const serverIn = (home: string): number =>
  Number.parseInt(readFileSync(join(home, "postgres", "18", "postmaster.pid"), "utf8"), 10)

const serverOf = ({ home }: HubProcess): number => serverIn(home)

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const hasNewServer = (hub: HubProcess, before: number): boolean => {
  try {
    const server = serverOf(hub)
    return server !== before && lives(server)
  } catch {
    // Between two servers there is no file.
    return false
  }
}

const untilHolds = (holds: () => boolean | Promise<boolean>, what: string): Promise<true> =>
  until(async () => ((await holds()) ? true : undefined), what, 40_000)

describe("Embedded PostgreSQL", () => {
  it("accepts only this user, and stops with the last Hub", async () => {
    const hub = await openHub({ embedded: true })
    const server = serverOf(hub)
    assert.strictEqual(statSync(join(hub.home, "postgres")).mode & 0o777, 0o700)
    assert.strictEqual(statSync(join(hub.home, "postgres", "server.log")).mode & 0o777, 0o600)
    assert.isTrue(lives(server))
    assert.deepStrictEqual(await hub.end(), { code: 0, signal: null })
    await untilHolds(() => !lives(server), "the end of PostgreSQL")
  })

  it("survives a killed Hub, and the next Hub finds it with its data", async () => {
    const hub = await openHub({ embedded: "prepared" })
    const server = serverOf(hub)
    const { client, token } = await hub.people
      .signIn("ada")
      .then(({ token }) => ({ client: hub.client, token }))
    await hub.end("SIGKILL")
    assert.isTrue(lives(server))
    await hub.start()
    assert.strictEqual(serverOf(hub), server, "the same one")
    const again = await hub.client.ask("GET", "/client/audit", { token })
    assert.strictEqual(again.status, 200, client.url)
  })

  it("is started again after it was killed", async () => {
    const hub = await openHub({ embedded: "prepared" })
    const { token } = await hub.people.signIn("ada")
    await hub.people.close()
    await hub.end("SIGKILL")
    process.kill(serverOf(hub), "SIGKILL")
    await hub.start()
    assert.strictEqual((await hub.client.ask("GET", "/client/audit", { token })).status, 200)
  })

  it.each(["SIGKILL", "SIGABRT", "SIGQUIT", "SIGINT"] as const)(
    "restarts under a running Hub after %s, with everything that was committed",
    async (signal) => {
      const hub = await openHub({ embedded: "prepared" })
      const { token } = await hub.people.signIn("ada")
      const written = await hub.client.ask("POST", "/client/projects", { token, body: { name: "kept" } })
      assert.strictEqual(written.status, 201, written.text)
      await hub.people.close()
      for (let round = 0; round < 2; round++) {
        const before = serverOf(hub)
        process.kill(before, signal)
        await untilHolds(() => !lives(before), "the end of PostgreSQL")
        assert.strictEqual((await hub.client.ask("GET", "/health/live")).status, 200)
        await untilHolds(() => hasNewServer(hub, before), "another server")
        await untilHolds(async () => (await hub.client.ask("GET", "/health")).status === 200, "readiness")
        // What died with the old server is refused as `overloaded`, which says when to try again.
        const list = () => hub.client.ask("GET", "/client/projects", { token })
        await untilHolds(async () => (await list()).status === 200, "the list")
        assert.include((await list()).text, '"kept"')
      }
      assert.include(hub.stderr, "restarted PostgreSQL")
      const last = serverOf(hub)
      assert.deepStrictEqual(await hub.end(), { code: 0, signal: null })
      await untilHolds(() => !lives(last), "the end of PostgreSQL")
    }
  )

  it("is shared by two Hubs that start together on one folder, and runs until both have stopped", async () => {
    const [first, second] = [new HubProcess({ embedded: true }), new HubProcess({ embedded: true })]
    Object.assign(second, { home: first.home })
    try {
      await Promise.all([first.start(), second.start()])
      const server = serverOf(first)
      await first.end()
      assert.isTrue(lives(server))
      assert.strictEqual((await second.client.ask("GET", "/health")).status, 200)
      await second.end()
      await untilHolds(() => !lives(server), "the end of PostgreSQL")
    } finally {
      await second.remove()
      await first.remove()
    }
  })

  it("starts after a power loss although the number of the server belongs to another program", async () => {
    const home = mkdtempSync(join(tmpdir(), "corral-hub-"))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    const open = () =>
      ManagedRuntime.make(Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, { ...hubDefaults, home })))
    const query = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`)
    const first = open()
    await first.runPromise(query)
    const lock = join(home, "postgres", "18", "postmaster.pid")
    const written = readFileSync(lock, "utf8")
    await first.dispose()
    const named = join(home, "postgres-18")
    mkdirSync(named)
    symlinkSync("/bin/sleep", join(named, "postgres"))
    const others = [
      spawn("/bin/sleep", ["600"], { cwd: join(home, "postgres", "18") }),
      spawn(join(named, "postgres"), ["600"]),
      spawn(process.execPath, ["-e", "setInterval(() => undefined, 60_000)", "postgres"])
    ]
    onTestFinished(() => others.forEach((other) => void other.kill("SIGKILL")))
    for (const { pid } of [...others, process]) {
      writeFileSync(lock, written.replace(/^\d+/, String(pid)))
      const hub = open()
      await hub.runPromise(query)
      await hub.dispose()
      assert.isTrue(lives(pid ?? 0), "no signal for the other program")
    }
  })

  /** Store of a Hub in this process. */
  const openStore = async (home: string) => {
    const store = ManagedRuntime.make(
      Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, { ...hubDefaults, home }))
    )
    await store.runPromise(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`))
    return store
  }
  const openHome = () => {
    const home = mkdtempSync(join(tmpdir(), "corral-hub-"))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    return home
  }
  it("stops with the last Hub even if no connection is left", async () => {
    const home = openHome()
    const hub = await openStore(home)
    const server = serverIn(home)
    const other = new Client({ host: join(home, "postgres"), user: "corral", database: "postgres" })
    await other.connect()
    await other.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'corral-hub%'"
    )
    await other.end()
    await within(hub.dispose(), 10_000, "the end")
    assert.isFalse(lives(server))
  })

  it("stops with two Hubs that stop at the same time", async () => {
    const home = openHome()
    const hubs = [await openStore(home), await openStore(home)]
    const server = serverIn(home)
    await Promise.all(hubs.map((hub) => hub.dispose()))
    await untilHolds(() => !lives(server), "the end of PostgreSQL")
  })
})
