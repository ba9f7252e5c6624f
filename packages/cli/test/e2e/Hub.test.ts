import { openHub } from "@corral/testing/hub/HubProcess"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Corral, program } from "./Corral.ts"

describe("corral hub migrate", () => {
  it("migrates an embedded database and stops it", async () => {
    const corral = new Corral()
    try {
      const first = await corral.run("hub", "migrate", "--json")
      assert.deepStrictEqual([first.exit, first.stderr], [0, ""])
      const { steps } = JSON.parse(first.out[0] ?? "") as { readonly steps: ReadonlyArray<string> }
      assert.deepStrictEqual(steps.slice(0, 3), ["people", "projects", "records"])
      const again = await corral.run("hub", "migrate")
      assert.deepStrictEqual(again.out, [
        `The Hub database is up to date: ${steps.length} migrations, the latest is ${steps.at(-1)}.`
      ])
      const lock = join(corral.home, "postgres", "18", "postmaster.pid")
      await until(async () => !existsSync(lock) || undefined, "the end of PostgreSQL")
    } finally {
      await corral.close()
    }
  })

  it("explains an unusable database without its password", async () => {
    const corral = new Corral()
    try {
      const url = { CORRAL_DATABASE_URL: "postgres://corral:s3cret-word@127.0.0.1:1/x" }
      const running = corral.spawn(process.execPath, [program, "hub", "migrate"], url)
      assert.strictEqual(await running.ended, 1)
      assert.match(running.stderr, /^The database x at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED/)
      assert.notInclude(running.stderr, "s3cret")
    } finally {
      await corral.close()
    }
  })
})

describe("corral hub doctor", () => {
  const openCorral = () => {
    const corral = new Corral()
    onTestFinished(() => corral.close())
    return corral
  }

  it("reports on the database of a running Hub, and fails when it finds a problem", async () => {
    const corral = openCorral()
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    const variables = { CORRAL_DATABASE_URL: url }
    await openHub({ env: variables })
    // Without the partition of the next week there is a finding: a Hub that has just started makes it.
    const healthy = await until(async () => {
      const running = corral.spawn(process.execPath, [program, "hub", "doctor"], variables)
      return (await running.ended) === 0 ? running : undefined
    }, "a report without findings")
    assert.match(healthy.out.join("\n"), /^Server\n {2}✓ PostgreSQL 18/)
    assert.match(healthy.out.join("\n"), /connections are used, and \d+ Hubs? connected$/m)
    const elsewhere = corral.spawn(process.execPath, [program, "hub", "doctor", "--json"], {
      CORRAL_DATABASE_URL: await sharedServer()
    })
    assert.strictEqual(await elsewhere.ended, 1)
    const { parts, status } = JSON.parse(elsewhere.out[0] ?? "")
    assert.strictEqual(status, "problem")
    assert.strictEqual(parts[1].findings[0].message, "No Hub has used this database yet.")
  })

  it("starts no database", async () => {
    const corral = openCorral()
    const { exit, stderr } = await corral.run("hub", "doctor")
    assert.strictEqual(exit, 1)
    assert.match(stderr, /^The Hub's own database does not run\. It runs with the Hub: start the Hub first\./)
    assert.isFalse(existsSync(join(corral.home, "postgres")))
  })
})
