/** `corral doctor` in each fault of an Edge and a Hub: what it names, what it advises, how it exits. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { openHub } from "@corral/testing/hub/HubProcess"
import { until } from "@corral/testing/time/Until"
import Database from "better-sqlite3"
import { Corral, program } from "./Corral.ts"

const METRICS_TOKEN = "metrics-token-of-a-test-0123456789"

interface Found {
  readonly edge: {
    readonly running: boolean
    readonly problem?: string
    readonly reason?: string
    readonly store?: string
  }
  readonly config?: object
  readonly agents: ReadonlyArray<unknown>
  readonly hub?: {
    readonly state: string
    readonly hint?: string
    readonly problems: ReadonlyArray<{ readonly part: string; readonly hint: string }>
  }
}

const examine = async (corral: Corral, env: Record<string, string> = {}) => {
  const running = corral.spawn(process.execPath, [program, "doctor", "--json"], env)
  const exit = await running.ended
  return { exit, found: JSON.parse(running.out.join("")) as Found }
}

describe("corral doctor", () => {
  it("reports a missing and a damaged store of a stopped Edge, with both remedies", async () => {
    const corral = new Corral()
    try {
      mkdirSync(corral.home, { mode: 0o700 })
      writeFileSync(join(corral.home, "edge.token"), "x".repeat(40), { mode: 0o600 })
      const missing = await examine(corral)
      assert.deepStrictEqual([missing.exit, missing.found.edge.running], [1, false])
      assert.match(missing.found.edge.store ?? "", /edge\.db is missing, but .* Restore .* or remove /)
      for (const bytes of ["", "no database ".repeat(400), `SQLite format 3\0${"\0".repeat(5_000)}`]) {
        writeFileSync(join(corral.home, "edge.db"), bytes, { mode: 0o600 })
        const { exit, found } = await examine(corral)
        assert.strictEqual(exit, 1)
        assert.match(found.edge.store ?? "", /estore .*edge\.db/, bytes.slice(0, 20))
      }
      rmSync(join(corral.home, "edge.db"))
      rmSync(join(corral.home, "edge.token"))
      const fresh = await examine(corral)
      assert.deepStrictEqual([fresh.exit, fresh.found.edge.store], [0, undefined])
      assert.match(fresh.found.edge.reason ?? "", /No Edge is running on this machine/)
    } finally {
      await corral.close()
    }
  })

  it("reports damaged events of a stopped Edge, as a running Edge does", async () => {
    const corral = new Corral()
    try {
      const { edge } = await corral.up()
      const run = await corral.run("run", "--agent", "scripted", "--workspace", "sample", "/say untouched")
      assert.strictEqual(run.exit, 0, run.stderr)
      edge.child.kill("SIGTERM")
      await edge.ended
      const stopped = await examine(corral)
      assert.deepStrictEqual([stopped.exit, stopped.found.edge.store], [0, undefined])

      const db = new Database(join(corral.home, "edge.db"))
      db.exec("UPDATE events SET lines = replace(lines, 'untouched', 'UNTOUCHED')")
      db.close()
      const { exit, found } = await examine(corral)
      assert.deepStrictEqual([exit, found.edge.running], [1, false])
      assert.match(found.edge.store ?? "", /^The stored events of a run are damaged\. .*restore edge\.db/)
    } finally {
      await corral.close()
    }
  })

  it("reports a setting that prevents the start of an Edge", async () => {
    const corral = new Corral()
    try {
      const { exit, found } = await examine(corral, { CORRAL_EDGE_PORT: "many" })
      assert.strictEqual(exit, 1)
      assert.match(found.edge.reason ?? "", /It can't start: CORRAL_EDGE_PORT/)
    } finally {
      await corral.close()
    }
  })

  it("reports presets that are not usable, and inspects the agents without them", async () => {
    const corral = new Corral()
    try {
      mkdirSync(corral.home, { recursive: true, mode: 0o700 })
      const path = join(corral.home, "presets.json")
      writeFileSync(path, "{", { mode: 0o600 })
      const { exit, found } = await examine(corral)
      const problem = `${path} is not usable: it is not JSON.`
      assert.deepStrictEqual([exit, found.edge.problem], [1, problem])
      assert.deepStrictEqual(found.config, { status: "degraded", path, problem })
      assert.isNotEmpty(found.agents)
    } finally {
      await corral.close()
    }
  })

  it.each([
    ["a file", (path: string) => writeFileSync(path, "")],
    ["a link to itself", (path: string) => symlinkSync(path, path)]
  ])("says that %s cannot be a home, and so does `up`", async (_, make) => {
    const corral = new Corral()
    try {
      make(corral.home)
      const { exit, found } = await examine(corral)
      assert.deepStrictEqual([exit, found.edge.running], [1, false])
      assert.match(found.edge.store ?? "", /edge\.db cannot be read: [a-z ]+\.$/)
      for (const flags of [[], ["--edge-only"]]) {
        const up = await corral.run("up", ...flags)
        assert.deepStrictEqual([up.exit, up.out], [1, []])
        assert.match(
          up.stderr,
          /^\S+ cannot be used as a home: [a-z ]+\. Set CORRAL_HOME to another folder\.\n$/
        )
      }
    } finally {
      await corral.close()
    }
  })

  // Node's recursive creation of folders does not end below /proc.
  it.skipIf(!existsSync("/proc/self"))(
    "ends for a home and files that the system cannot create",
    async () => {
      const corral = new Corral()
      const refusal = async (env: Record<string, string>, ...args: ReadonlyArray<string>) => {
        const { exit, out, stderr } = await corral.spawn(process.execPath, [program, ...args], env).done
        assert.deepStrictEqual([exit, out], [1, []], stderr)
        return stderr
      }
      try {
        for (const home of ["/proc/corral", "/proc/corral/below"]) {
          const env = { CORRAL_HOME: home }
          for (const flags of [[], ["--edge-only"]])
            assert.strictEqual(
              await refusal(env, "up", ...flags),
              `${home} cannot be used as a home: no such file or directory. Set CORRAL_HOME to another folder.\n`
            )
          assert.deepStrictEqual((await examine(corral, env)).found.edge.running, false)
        }
        const token = { CORRAL_EDGE_TOKEN_FILE: "/proc/corral/edge.token" }
        assert.match(await refusal(token, "up", "--edge-only"), /^[^\n]*\/proc\/corral[^\n]*\n$/)
      } finally {
        await corral.close()
      }
    }
  )

  it("distinguishes an unreachable provider, a lost database and a stopped Hub", async () => {
    const { url } = await openPostgres()
    const hub = await openHub({
      env: {
        CORRAL_DATABASE_URL: url,
        CORRAL_METRICS_TOKEN: METRICS_TOKEN,
        CORRAL_OIDC_ISSUER: "http://127.0.0.1:1",
        CORRAL_OIDC_CLIENT_ID: "corral",
        CORRAL_OIDC_TOKEN_AUTH: "none"
      }
    })
    hub.databaseUrl = url
    const { token, userId } = await hub.people.signIn("ada")
    const corral = new Corral()
    try {
      mkdirSync(corral.home, { mode: 0o700 })
      const signIn = { hub: hub.url, userId, name: "ada", token }
      writeFileSync(join(corral.home, "hub.json"), JSON.stringify(signIn), { mode: 0o600 })

      const unreachable = await examine(corral)
      assert.deepStrictEqual(
        [
          unreachable.exit,
          unreachable.found.hub?.state,
          unreachable.found.hub?.problems.map(({ part }) => part)
        ],
        [1, "degraded", ["sign_in"]]
      )
      assert.include(unreachable.found.hub?.problems[0]?.hint ?? "", "CORRAL_OIDC_ISSUER")
      assert.strictEqual((await hub.client.ask("GET", "/health")).status, 200, "the rest of the Hub works")

      const other = new URL("/template1", url).href
      await query(other, "ALTER DATABASE postgres ALLOW_CONNECTIONS false")
      await query(
        other,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'corral-hub %'`
      )
      // The Hub probes its database at most once a second.
      await until(
        async () => (await hub.client.ask("GET", "/health")).status === 503 || undefined,
        "the lost database in /health"
      )
      const lost = await examine(corral)
      assert.deepStrictEqual([lost.exit, lost.found.hub?.state], [1, "not_ready"])
      assert.match(lost.found.hub?.hint ?? "", /database/)
      const response = await examine(corral, { CORRAL_METRICS_TOKEN: METRICS_TOKEN })
      assert.deepStrictEqual(
        response.found.hub?.problems.map(({ part }) => part),
        ["database", "sign_in"]
      )
      await query(other, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")

      await hub.people.close()
      await hub.end()
      const afterwards = await examine(corral)
      assert.deepStrictEqual([afterwards.exit, afterwards.found.hub?.state], [1, "unreachable"])
    } finally {
      await corral.close()
    }
  })
})
