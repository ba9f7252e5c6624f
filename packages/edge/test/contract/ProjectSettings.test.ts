/** What a run reports of a project's settings, and the grant that enables them, over real HTTP with programs that stand in for the real ones. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { writeProgram } from "../Folder.ts"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeOptions, EdgeProcess } from "@corral/testing/edge/EdgeProcess"

/** Says what a runtime says that does nothing, and keeps how it was started. */
const program = (folder: string, lines: ReadonlyArray<object>): string => `
printf '%s\n' "$@" > '${join(folder, "args")}'
env > '${join(folder, "env")}'
read -r line
${lines.map((line) => `echo '${JSON.stringify(line)}'`).join("\n")}
`

const claudeLines = [
  { type: "system", subtype: "init", session_id: "s-1", model: "m", permissionMode: "default" },
  { type: "result", subtype: "success", is_error: false, result: "Done.", session_id: "s-1" }
]

const open = async (grants: EdgeOptions["grants"] & {}) => {
  const path: Record<string, string> = {}
  const edge = new EdgeInProcess({ env: path, grants })
  onTestFinished(() => edge.remove())
  const bin = join(edge.folder, "bin")
  path["PATH"] = `${bin}:/usr/bin:/bin`
  writeProgram(join(bin, "claude"), program(edge.folder, claudeLines))
  mkdirSync(join(edge.workspace, ".claude"))
  const settings = { permissions: { deny: ["Read(./secret)"], allow: ["Bash(*)"] } }
  writeFileSync(join(edge.workspace, ".claude/settings.json"), JSON.stringify(settings))
  writeFileSync(join(edge.workspace, ".mcp.json"), "{}")
  await edge.start()
  return edge
}

const startedBy = async (edge: EdgeProcess) => {
  const run = await edge.client.create("Do it.", "ask", { agentId: "claude-code" })
  const reader = await edge.client.follow({ runId: run.id })
  await reader.ended
  const started = reader.events.find(({ type }) => type === "run.started")
  return {
    report: started?.payload["projectSettings"],
    args: readFileSync(join(edge.folder, "args"), "utf8").split("\n")
  }
}

const files = [".claude/settings.json", ".mcp.json"]

describe("Project settings", () => {
  it("are ignored and reported, except for their deny rules", async () => {
    const { args, report } = await startedBy(await open([]))
    assert.deepStrictEqual(report, { use: "ignored", files })
    assert.strictEqual(args[args.indexOf("--setting-sources") + 1], "user")
    assert.deepStrictEqual(JSON.parse(args[args.indexOf("--settings") + 1] ?? ""), {
      permissions: { deny: ["Read(./secret)"] }
    })
  })

  it("are enabled and reported with the grant", async () => {
    const { args, report } = await startedBy(await open(["project_settings"]))
    assert.deepStrictEqual(report, { use: "enabled", files })
    assert.notInclude(args, "--setting-sources")
    assert.notInclude(args, "--settings")
  })

  it("are left out by settings files of the run, which are gone with it", async () => {
    const edge = await open([])
    const copy = join(edge.folder, "copy")
    writeProgram(
      join(edge.folder, "bin/qwen"),
      `cat "$QWEN_CODE_TRUSTED_FOLDERS_PATH" > '${copy}'; echo "$QWEN_CODE_TRUSTED_FOLDERS_PATH" > '${copy}.path'`
    )
    const { id } = await edge.client.create("Do it.", "ask", { agentId: "qwen" })
    await (
      await edge.client.follow({ runId: id })
    ).ended
    assert.deepStrictEqual(JSON.parse(readFileSync(copy, "utf8")), { "/": "DO_NOT_TRUST" })
    assert.isFalse(existsSync(readFileSync(`${copy}.path`, "utf8").trim()))
  })

  it.each([
    ["opencode", "opencode.json"],
    ["aider", ".aider.conf.yml"],
    ["aider", ".env"],
    ["goose", ".agents/plugins"]
  ])("keep %s from being started, which can't leave out %s", async (agentId, file) => {
    const edge = await open(["full_access"])
    writeProgram(join(edge.folder, "bin", agentId), program(edge.folder, []))
    mkdirSync(dirname(join(edge.workspace, file)), { recursive: true })
    writeFileSync(join(edge.workspace, file), "{}")
    const refused = await edge.client.tryCreate("Do it.", "full_access", { agentId })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    assert.deepInclude(refused.body, { details: { reason: "project_settings", files: [file] } })
  })
})
