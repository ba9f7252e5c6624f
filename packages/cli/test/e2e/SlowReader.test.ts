/** Slow readers of stdout: the command waits until they have read every line. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral, program } from "./Corral.ts"
import { SlowReader } from "./SlowReader.ts"

const EVENTS = 3_000
const script = `/stream ${EVENTS} 0 64`
const flags = ["--agent", "scripted", "--workspace", "sample", "--json"]

describe("a command with a slow reader", () => {
  const corral = new Corral()
  let ended: ReadonlyArray<string>
  let runId: string
  beforeAll(async () => {
    await corral.up()
    const { exit, out } = await corral.run("run", ...flags, script)
    assert.strictEqual(exit, 0)
    ended = out
    runId = JSON.parse(out[0] ?? "").runId
  })
  afterAll(() => corral.close())

  /** Another command takes longer than this one needs to end without its reader. */
  const read = async (...args: ReadonlyArray<string>) => {
    const reader = new SlowReader(corral, ...args)
    await reader.waits()
    await corral.run("runs")
    return reader.rest()
  }

  it("prints every event of `attach`", async () => {
    const { exit, lines } = await read("attach", runId, "--json")
    assert.deepStrictEqual([lines.length, exit], [ended.length, 0])
    assert.deepStrictEqual(lines, ended)
  })

  it("prints every event of `run`, the outcome last", async () => {
    const { exit, lines } = await read("run", ...flags, script)
    assert.strictEqual(exit, 0)
    assert.isAbove(lines.length, EVENTS)
    assert.strictEqual(JSON.parse(lines.at(-1) ?? "").type, "run.completed")
  })

  it("prints every event of `normalize`", async () => {
    const recording = join(corral.home, "recording.jsonl")
    const messageLine = (text: string) => JSON.stringify({ type: "message", id: text, channel: "text", text })
    const output = [
      JSON.stringify({ type: "hello", session: "s", version: "1", mode: "ask" }),
      ...Array.from({ length: EVENTS }, (_, at) => messageLine(`message ${at}`)),
      JSON.stringify({ type: "done", status: "completed" })
    ]
    writeFileSync(recording, output.map((line) => `${line}\n`).join(""))
    const { exit, lines } = await read("normalize", "--agent", "scripted", recording)
    assert.strictEqual(exit, 0)
    assert.strictEqual(JSON.parse(lines.at(-1) ?? "").type, "run.completed")
    assert.isAtLeast(lines.length, EVENTS + 2)
  })

  it("exits with 1 when the reader closes, without a message about an ended run", async () => {
    const running = corral.spawn("sh", [
      "-c",
      `"$0" "$1" attach ${runId} --json | head -n 1`,
      process.execPath,
      program
    ])
    assert.strictEqual(await running.ended, 0)
    assert.strictEqual(running.stderr, "")
    assert.strictEqual(running.out.length, 1)
    const reader = new SlowReader(corral, "attach", runId, "--json")
    await reader.waits()
    assert.strictEqual(await reader.leave(), 1)
  })
})
