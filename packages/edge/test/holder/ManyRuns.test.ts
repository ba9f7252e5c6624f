import { survivors } from "@corral/testing/edge/Survivors"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { adoptRun, startShell } from "./HeldCase.ts"
import { connectEdge, holdersOf, openHome, storedOutput, untilGone } from "./HolderHome.ts"

describe("200 runs at once", () => {
  it("continue with the next Edge, each with its own bytes, and are ended together", async () => {
    const home = openHome()
    const first = await connectEdge({ home, orphanMs: 60_000 })
    const runs = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        startShell(first, `echo begin ${at}; read line; echo "$line ${at}"; sleep 600`)
      )
    )
    for (const { record } of runs) await record.received(8)
    await first.close()
    const second = await connectEdge({ home, orphanMs: 100 })
    assert.sameMembers(
      second.holder.found.map(({ id }) => id),
      runs.map(({ id }) => id)
    )
    const adopted = await Promise.all(runs.map(({ id }) => adoptRun(second, id)))
    for (const [at, { child, record }] of adopted.entries()) {
      child.write("next\n")
      await record.received(`begin ${at}\nnext ${at}\n`.length)
      assert.strictEqual(record.output.toString(), `begin ${at}\nnext ${at}\n`)
    }
    const [holder = 0] = holdersOf(home)
    await second.close()
    await untilGone(holder)
    assert.deepStrictEqual(survivors(undefined, new Set(runs.map(({ id }) => id))), [])
    assert.deepStrictEqual(storedOutput(home), [])
  })
})

describe("the state that an Edge keeps", () => {
  it("is given to the next Edge as it was kept last, also if it is larger than a frame", async () => {
    const home = openHome()
    const first = await connectEdge({ home })
    const run = await startShell(first, "echo out; read line")
    await Effect.runPromise(run.connection.keep(Buffer.from("first")))
    const large = randomBytes(20_000_000)
    await Effect.runPromise(run.connection.keep(large))
    await first.close()
    const second = await connectEdge({ home })
    const { connection, record } = await adoptRun(second, run.id)
    assert.isTrue(connection.blob.equals(large))
    await record.received(4)
    await Effect.runPromise(connection.keep(new Uint8Array()))
    await second.close()
    const third = await connectEdge({ home })
    const { connection: last } = await adoptRun(third, run.id)
    assert.strictEqual(last.blob.length, 0)
  })

  it("is refused beyond 64 MiB", async () => {
    const edge = await connectEdge({ home: openHome() })
    const run = await startShell(edge, "read line")
    const failure = await Effect.runPromise(Effect.flip(run.connection.keep(new Uint8Array(67_108_865))))
    assert.include(failure.message, "too large")
  })

  it("is not on the disk", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line")
    await Effect.runPromise(run.connection.keep(Buffer.from("the secret")))
    for (const name of storedOutput(home))
      assert.notInclude(readFileSync(join(home, "held", name), "utf8"), "the secret")
  })
})
