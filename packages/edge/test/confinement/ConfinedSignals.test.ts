/** Signals to a confined program, and how its end is reported. */
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { rmSync } from "node:fs"
import { signalConfined, signalGroup } from "../../src/process/ProcessSweep.ts"
import { Subprocess } from "../../src/process/Subprocess.ts"
import { within } from "@corral/testing/time/Until"
import { canConfine } from "./CanConfine.ts"
import { ConfinedCase } from "./ConfinedCase.ts"

/** Runs a shell script until it prints `ready`, sends it a signal, and returns its output and its end. */
const signalled = async (script: string, signal: NodeJS.Signals) => {
  const machine = new ConfinedCase()
  onTestFinished(async () => {
    await machine.close()
    rmSync(machine.folder, { recursive: true, force: true })
  })
  const spec = await machine.confined("ask", "/bin/sh", ["-c", script])
  const ending = Promise.withResolvers<ProcessEnd>()
  let output = ""
  const child = new Subprocess(
    { ...spec, temporary: undefined },
    {
      onChunk: (chunk) => {
        const isReady = output.includes("ready\n")
        output += chunk.toString("utf8")
        if (!isReady && output.includes("ready\n") && child.pid !== undefined)
          signalConfined(child.pid, signal)
      },
      onEnd: ending.resolve,
      onSpawnError: ending.reject
    }
  )
  onTestFinished(() => {
    if (child.pid !== undefined && !child.isGone) signalGroup(child.pid, "SIGKILL")
  })
  const { code, signal: by } = await within(ending.promise, 10_000, "the end")
  return { output, code, signal: by }
}

const WAIT = "echo ready; while :; do sleep 0.05; done"

describe.skipIf(!canConfine)("signalConfined", () => {
  it("lets the program handle the signal and choose its exit code", async () => {
    assert.deepStrictEqual(await signalled(`trap 'echo handled; exit 3' INT; ${WAIT}`, "SIGINT"), {
      output: "ready\nhandled\n",
      code: 3,
      signal: null
    })
  })

  it("reports the signal that ended the program", async () => {
    assert.deepStrictEqual(await signalled(WAIT, "SIGTERM"), {
      output: "ready\n",
      code: null,
      signal: "SIGTERM"
    })
  })
})
