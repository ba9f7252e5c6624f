import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Corral, program } from "./Corral.ts"

describe("corral hub migrate", { timeout: 60_000 }, () => {
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
      assert.isFalse(existsSync(join(corral.home, "postgres", "18", "postmaster.pid")))
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
