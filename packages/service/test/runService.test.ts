import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { bundledProgram } from "@corral/testing/process/BundledProgram"
import { within } from "@corral/testing/time/Until"

const program = bundledProgram(fileURLToPath(new URL("harness/served.ts", import.meta.url)))
const script = "/usr/bin/script"

/** What it printed in all, and how it ended, where that signal is sent to it once it serves. */
const ended = async (signal: NodeJS.Signals, file: string, args: ReadonlyArray<string>) => {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "ignore"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    const pid = /"pid":(\d+)\}\r?\n/.exec(text)?.[1]
    if (pid !== undefined) process.kill(Number(pid), signal)
  })
  const [code, by] = await within(once(child, "close"), 20_000, "the service's end")
  return { code, by, isTakenDown: output.includes("taken down") }
}

describe("runService", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`is taken down at ${signal}`, async () => {
      const end = await ended(signal, process.execPath, [program])
      assert.deepStrictEqual(end, { code: 0, by: null, isTakenDown: true })
    })
  }

  it.skipIf(!existsSync(script))("is taken down when its terminal is closed", async () => {
    const end = await ended("SIGHUP", script, ["-qec", `'${process.execPath}' '${program}'`, "/dev/null"])
    assert.deepStrictEqual(end, { code: 0, by: null, isTakenDown: true })
  })

  it("continues at SIGHUP without a terminal, and ends in order at SIGTERM", async () => {
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "ignore"] })
    onTestFinished(() => void child.kill("SIGKILL"))
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
    await within(once(child.stdout, "data"), 20_000, "the ready line")
    for (let i = 0; i < 3; i++) child.kill("SIGHUP")
    child.kill("SIGTERM")
    const [code, by] = await within(once(child, "close"), 20_000, "the service's end")
    assert.deepStrictEqual([code, by, output.includes("taken down")], [0, null, true])
  })
})
