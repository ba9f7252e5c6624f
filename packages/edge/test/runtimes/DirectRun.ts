/**
 * A real program driven by its adapter alone, for what no request of an Edge has: images. Every permission is allowed.
 *
 * Does not: contain the program, or read its events.
 */
import type { AdapterOutput, Outcome, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Installed } from "./Installation.ts"
import { withOwnHome } from "./OwnHome.ts"

export interface DirectRun {
  readonly outcome: Outcome | undefined
  /** What the model was asked. */
  readonly modelRequests: ReadonlyArray<string>
}

/** Runs a program until its end. `start` receives a folder that is the program's workspace. */
export const runDirectly = (
  place: Installed,
  adapter: RuntimeAdapter,
  start: (folder: string) => RunStart
): Promise<DirectRun> =>
  withOwnHome(place, async ({ env: surroundings, home, models }) => {
    const run = start(home)
    const { args, bridge = [], env, file, settingsFiles = [], stdin } = adapter.command(run)
    for (const { content, name } of settingsFiles) writeFileSync(join(home, name), content)
    const [started, ...startArgs] = [...bridge, join(place.bin, file), ...args]
    const child = spawn(started, startArgs, {
      cwd: run.workspacePath,
      detached: true,
      env: {
        ...surroundings,
        ...env,
        ...Object.fromEntries(settingsFiles.map((settings) => [settings.env, join(home, settings.name)])),
        PWD: run.workspacePath
      }
    })
    const protocol = adapter.protocol(run)
    let outcome: Outcome | undefined
    let stderr = ""
    const take = (outputs: ReadonlyArray<AdapterOutput>): void => {
      for (const output of outputs) {
        if (output._tag === "Reply") child.stdin.write(output.text)
        if (output._tag === "Approval")
          child.stdin.write(protocol.answer(output.key, { decision: "allow", scope: "once" }) ?? "")
        if (output._tag !== "Outcome") continue
        outcome = output.outcome
        child.stdin.end()
      }
    }
    child.stdin.on("error", () => undefined)
    child.stdout.on("data", (chunk: Uint8Array) => take(protocol.step(chunk)))
    child.stderr.on("data", (chunk: Uint8Array) => (stderr += Buffer.from(chunk).toString("utf8")))
    if (stdin !== "ignore") child.stdin.write(protocol.open)
    if (stdin !== "pipe") child.stdin.end()
    const [code, signal] = (await once(child, "close")) as [number | null, string | null] // the event's arguments
    take(protocol.end({ code, signal, stderr }))
    return { outcome, modelRequests: models.requests }
  })
