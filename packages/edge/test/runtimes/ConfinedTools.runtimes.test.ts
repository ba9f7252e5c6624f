/**
 * Tools of the real programs in confined runs, driven through the adapters that `Runtimes.runtimes.test.ts` does not drive: programs that never ask,
 * and further forms of those that do. What a program or a registry does not allow here is skipped, and says why.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { registry } from "@corral/testing/recordings/Fixtures"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { ownSandbox, programs } from "./Programs.ts"
import { NEW, OLD, promptFor } from "./Script.ts"
import { type Played, Stage } from "./Stage.ts"

const installed = []
for (const program of programs) installed.push(await install(program))
const subjects = installed.flatMap((place) =>
  (place.program.alsoAs ?? []).map((agentId) => ({ agentId, place }))
)
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const allow = () => "allow" as const

const assertCompleted = ({ end }: Played): void =>
  assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))

describe.skipIf(!canConfine).each(subjects)("$agentId, confined", ({ agentId, place }) => {
  if (place.missing !== undefined) {
    console.log(`${agentId} is skipped: ${place.missing}`)
    it.skip(`is driven: ${place.missing}`)
    return
  }
  // A program that never asks works in the workspace itself in this mode only.
  const mode: RunMode = registry.get(agentId)?.capabilities.approvals === true ? "ask" : "auto_edit"
  const run = ownSandbox.has(agentId) ? "escape" : "run"
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, { confinement: "required" })
  })
  afterAll(() => stage.close())

  const note = (what: string) =>
    report.push(`${place.program.name} ${place.program.version}, ${agentId}, confined: ${what}`)
  const play = (prompt: string, inMode: RunMode = mode) => stage.play(prompt, allow, inMode)

  it("reads a file", async () => {
    const read = ownSandbox.has(agentId) ? promptFor(run, "cat README.md") : promptFor("read", "README.md")
    const played = await play(read)
    assertCompleted(played)
    assert.include(played.modelRequests.at(-1) ?? "", OLD, "its content reached the model")
    note("read a file")
  })

  it("changes nothing in read_only", async () => {
    await play(promptFor(run, "echo one > refused.txt"), "read_only")
    await play(promptFor("edit", "README.md"), "read_only")
    assert.isFalse(existsSync(join(stage.edge.workspace, "refused.txt")))
    assert.include(stage.file("README.md"), OLD)
    note("changed nothing in read_only")
  })

  it("runs a command", async () => {
    const played = await play(promptFor(run, "echo one > made.txt && echo made-it"))
    assertCompleted(played)
    assert.strictEqual(stage.file("made.txt"), "one\n")
    assert.include(played.modelRequests.at(-1) ?? "", "made-it")
    note("ran a command")
  })

  it("edits a file", async () => {
    const played = await play(promptFor("edit", "README.md"))
    assertCompleted(played)
    assert.include(stage.file("README.md"), NEW)
    note("edited a file")
  })

  it.runIf(mode === "ask")("edits a file of a protected folder where that was allowed", async () => {
    const file = ".vscode/notes.md"
    stage.write(file, `# Notes\n\n${OLD}\n`)
    assertCompleted(await play(promptFor("edit", file)))
    assert.include(stage.file(file), NEW)
    note("edited a file of a protected folder")
  })

  it("is cancelled in the middle of a tool, and leaves no process behind", async () => {
    const script = promptFor(run, "echo begun > begun.txt && sleep 300")
    const { reader, runId } = await stage.playUntil(script, "begun.txt", mode)
    const [{ status }] = await Promise.all([
      stage.edge.client.cancel(runId),
      reader.event("run.cancelled", 30_000)
    ])
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(stage.edge.survivorsOf(runId), [])
    await reader.ended
    note("was cancelled")
  })
})
