/** Runs of a real Edge on a machine without bubblewrap whose setpriv supports Landlock. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram } from "../../src/process/ChildEnvironment.ts"
import { landlock } from "../confinement/CanLimitFiles.ts"
import { confinementOf, testReadOnly } from "./ConfinedReadOnly.ts"

/** A PATH with setpriv only. */
const programs = mkdtempSync(join(tmpdir(), "corral-setpriv-"))
const setpriv = findProgram("setpriv", process.env["PATH"])
if (setpriv !== undefined) symlinkSync(setpriv, join(programs, "setpriv"))
afterAll(() => rmSync(programs, { recursive: true }))

const settings = (confinement: string) => ({ CORRAL_EDGE_CONFINEMENT: confinement, PATH: programs })

describe.skipIf(landlock === undefined)("runs under Landlock", () => {
  let edge: EdgeProcess
  beforeAll(async () => {
    const file = join(programs, "agents.json")
    const runners = [
      { id: "writer", label: "Writer", runtime: "text", command: ["sh", "-c", "echo done", "{prompt}"] }
    ]
    writeFileSync(file, JSON.stringify({ runners }), { mode: 0o600 })
    edge = new EdgeProcess({
      env: { ...settings("preferred"), CORRAL_EDGE_CONFIG_FILE: file },
      grants: ["full_access"]
    })
    await edge.start()
  })
  afterAll(() => edge.remove())

  it("say so, and what bubblewrap lacks", async () => {
    const confinement = await confinementOf(edge)
    assert.strictEqual(confinement?.kind, "landlock")
    assert.strictEqual(confinement?.network, "open")
    assert.include(confinement?.problem, "bubblewrap is not installed")
    const run = await edge.client.create("/say done", "plan")
    assert.deepStrictEqual(run.confinement, { kind: "landlock" })
    const events = await edge.client.log(run.id)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    assert.deepStrictEqual(events[0]?.payload["confinement"], { kind: "landlock" })
  })

  testReadOnly(() => edge)

  it("report a protected name that a run writes", async () => {
    mkdirSync(join(edge.workspace, ".vscode"))
    writeFileSync(join(edge.workspace, ".vscode", "tasks.json"), "{}")
    const { id } = await edge.client.create("/breach .vscode/tasks.json\n/say done", "ask")
    const events = await edge.client.log(id)
    assert.notStrictEqual(readFileSync(join(edge.workspace, ".vscode", "tasks.json"), "utf8"), "{}")
    assert.include(JSON.stringify(events.find(({ type }) => type === "run.protected.changed")), ".vscode")
  })

  it("leave programs that never ask as they are without a confinement: those could send what they read", async () => {
    const { body } = await edge.client.ask("GET", "/v1/runners")
    const { items } = body as {
      readonly items: ReadonlyArray<{ readonly id: string; readonly modes: unknown }>
    }
    assert.deepStrictEqual(items.find(({ id }) => id === "writer")?.modes, ["full_access"])
  })
})

describe.skipIf(landlock === undefined)("runs that must be confined, where only Landlock works", () => {
  it("are refused, because their network would be open", async () => {
    const edge = await openEdgeProcess({ env: settings("required"), grants: [] })
    assert.strictEqual((await confinementOf(edge))?.kind, "none")
    const refused = await edge.client.tryCreate("/say done", "plan")
    assert.strictEqual(codeOf(refused), "permission_denied")
  })
})
