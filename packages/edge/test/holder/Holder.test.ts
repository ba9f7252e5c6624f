import { assert, describe, it } from "@effect/vitest"
import { adoptRun, connectEdge, newRun, openHome, startShell } from "./HolderCase.ts"

describe("a run in the holder", () => {
  it("receives what the program prints, and its end", async () => {
    const edge = await connectEdge({ home: openHome() })
    const run = await startShell(edge, "echo out; echo err >&2; read line; echo $line; exit 3")
    await run.received(4)
    run.child.write("hello\n")
    assert.deepStrictEqual(await run.ended, { code: 3, signal: null, stderr: "err\n" })
    assert.strictEqual(run.output().toString(), "out\nhello\n")
    assert.deepStrictEqual(run.events, ["gone", "end"])
  })

  it("continues with the next Edge", async () => {
    const home = openHome()
    const id = newRun()
    const first = await connectEdge({ home })
    const before = await startShell(first, "echo one; read line; echo $line", { run: id })
    await before.received(4)
    await first.close()
    const second = await connectEdge({ home })
    assert.deepStrictEqual(
      second.holder.found.map((each) => each.id),
      [id]
    )
    const after = await adoptRun(second, id)
    after.child.write("two\n")
    const { code } = await after.ended
    assert.strictEqual(code, 0)
    assert.strictEqual(after.output().toString(), "one\ntwo\n")
  })
})
