/**
 * The user's own servers of tools, which confined runs of real programs start from settings that they see read-only or as a copy.
 *
 * Qwen Code and Gemini CLI start none in a folder that they distrust, confined or not.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { Stage } from "./Stage.ts"

const server = (script: string) => ({ command: "/bin/sh", args: ["-c", script] })

/** Adds a server to the settings of a home, by the command of the program. */
const settings: Readonly<Record<string, (home: string, script: string) => string>> = {
  claude: (home, script) => {
    const path = join(home, ".claude", ".claude.json")
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ mcpServers: { mine: server(script) } }))
    return path
  },
  codex: (home, script) => {
    const path = join(home, ".codex", "config.toml")
    const args = JSON.stringify(["-c", script])
    appendFileSync(path, `\n[mcp_servers.mine]\ncommand = "/bin/sh"\nargs = ${args}\n`)
    return path
  }
}
const agents: Readonly<Record<string, string>> = { claude: "claude-code", codex: "codex" }

const installed = []
for (const program of programs)
  if (settings[program.command] !== undefined) installed.push(await install(program))

describe.runIf(canConfine).each(installed)("A server of the user of $program.name", (place) => {
  const { command } = place.program
  const agentId = agents[command]
  const add = settings[command]
  if (place.missing !== undefined || agentId === undefined || add === undefined) {
    it.skip(`is driven: ${place.missing}`)
    return
  }

  it("is started in a confined run, which does not change the settings", async () => {
    let path = ""
    const stage = await Stage.open(place, agentId, RIGHT_KEY, {
      confinement: "required",
      prepare: (edge, home) => {
        path = add(home, `echo started > ${join(edge.workspace, "server-started")}`)
      }
    })
    onTestFinished(() => stage.close())
    const before = readFileSync(path, "utf8")
    const { end } = await stage.play(promptFor("say", "Alpha was said first"), () => "allow", "ask")
    assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))
    assert.isTrue(existsSync(join(stage.edge.workspace, "server-started")))
    assert.strictEqual(readFileSync(path, "utf8"), before)
    console.log(`${place.program.name} ${place.program.version}: started the user's server`)
  })
})
