/** `corral raw`: what the program of a run printed, as a report or a recording, and sentences where nothing is there. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Corral, program } from "./Corral.ts"

const corral = new Corral()
afterAll(() => corral.close())

const upWith = async (env: NodeJS.ProcessEnv) => {
  const edge = corral.spawn(process.execPath, [program, "up", "--edge-only"], env)
  await edge.line(/^\{.*\}$/)
  return edge
}
const runOf = async (prompt: string): Promise<string> => {
  const { out } = await corral.run("run", "--agent", "scripted", "--workspace", "sample", prompt)
  return /run_\w{26}/.exec(out.join("\n"))?.[0] ?? assert.fail(out.join("\n"))
}

describe("corral raw", () => {
  let edge: Awaited<ReturnType<typeof upWith>>
  let id = ""
  beforeAll(async () => {
    edge = await upWith({ CORRAL_EDGE_RAW_OUTPUT: "keep" })
    id = await runOf("/say one\n/say the key is sk-proj-A1b2C3d4E5f6G7h8")
  })

  it("prints each line with its time, and how the program ended", async () => {
    const { exit, out } = await corral.run("raw", id)
    assert.strictEqual(exit, 0)
    for (const line of out) assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} (?:stdout {2}\{|exit {4}0$)/)
    assert.match(out.at(-1) ?? "", /exit {4}0$/)
    assert.include(out.join("\n"), "[redacted]")
    assert.notInclude(out.join("\n"), "A1b2C3d4")
  })

  it("prints records for programs, and the lines alone as a recording that an adapter reads", async () => {
    const records = (await corral.run("raw", id, "--json")).out.map((line) => JSON.parse(line))
    assert.deepInclude(records.at(-1), { exit: { code: 0, signal: null } })
    const { out } = await corral.run("raw", id.slice(4), "--stdout")
    assert.deepStrictEqual(
      out,
      records.flatMap((record) => (record.stream === "stdout" ? [record.text] : []))
    )
    const normalized = await corral.feed(`${out.join("\n")}\n`, "normalize", "--agent", "scripted")
    assert.strictEqual(JSON.parse(normalized.out.at(-1) ?? "{}").type, "run.completed")
  })

  it("says what is missing: the run, or its output, and how to keep it", async () => {
    const missing = await corral.run("raw", "run_01K00000000000000000000000")
    assert.strictEqual(missing.exit, 2)
    assert.match(missing.stderr, /^Run run_01K0{23} was not found/)
    edge.child.kill("SIGTERM")
    await edge.ended
    await upWith({})
    const later = await runOf("/say two")
    const { exit, out, stderr } = await corral.run("raw", later)
    assert.deepStrictEqual([exit, out], [2, []])
    assert.match(stderr, /^No raw output of this run is kept\..*CORRAL_EDGE_RAW_OUTPUT is keep/)
    // What was kept before is still there.
    assert.strictEqual((await corral.run("raw", id)).exit, 0)
  })
})
