/** 50 times: a shell's slow pipe gets every line of a run that has ended. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Corral, program } from "./Corral.ts"

const TIMES = 50

describe("A slow pipe", () => {
  const corral = new Corral()
  let expected: number
  let runId: string
  beforeAll(async () => {
    await corral.up()
    const { out } = await corral.run("run", "-a", "scripted", "-w", "sample", "--json", "/stream 3000 0 64")
    expected = out.length
    runId = JSON.parse(out[0] ?? "").runId
  }, 90_000)
  afterAll(() => corral.close())

  it(`gets every line, ${TIMES} times out of ${TIMES}`, async () => {
    const script = '"$@" | (sleep 1; wc -l); exit ${PIPESTATUS[0]}'
    for (let time = 0; time < TIMES; time++) {
      const command = corral.spawn("bash", [
        "-c",
        script,
        "bash",
        process.execPath,
        program,
        "attach",
        runId,
        "--json"
      ])
      assert.strictEqual(await command.ended, 0, command.stderr)
      assert.strictEqual(Number(command.out[0]), expected)
    }
  })
})
