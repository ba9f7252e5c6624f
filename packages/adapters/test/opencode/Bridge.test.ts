/** The bridge to OpenCode, with a server that answers with its own environment. */
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { createInterface } from "node:readline"
import { openCodeBridge } from "../../src/openCodeBridge.ts"

const server = `#!${process.execPath}
const { createServer } = require("node:http")
const { OPENCODE_CONFIG_CONTENT, OPENCODE_SERVER_PASSWORD } = process.env
createServer((request, response) => {
  if (request.url === "/event") return response.writeHead(200).write("data: {}\\n\\n")
  response.end(JSON.stringify({ OPENCODE_CONFIG_CONTENT, OPENCODE_SERVER_PASSWORD }))
}).listen(0, "127.0.0.1", function () {
  console.log("listening on http://127.0.0.1:" + this.address().port)
})
`

/** The response of the server to one request over the bridge. */
const environmentOf = async (env: Readonly<Record<string, string>>): Promise<Record<string, string>> => {
  const folder = mkdtempSync(path.join(tmpdir(), "corral-bridge-"))
  const program = path.join(folder, "opencode")
  writeFileSync(program, server)
  chmodSync(program, 0o700)
  const bridge = spawn(process.execPath, [openCodeBridge, program], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"]
  })
  try {
    bridge.stdin.write(`${JSON.stringify({ id: "1", method: "GET", path: "/environment" })}\n`)
    for await (const line of createInterface({ input: bridge.stdout })) {
      const { properties, type } = JSON.parse(line)
      if (type === "bridge.response") return properties.body
    }
    throw new Error("the bridge ended without a response")
  } finally {
    bridge.stdin.end()
    await new Promise((resolve) => bridge.once("close", resolve))
    rmSync(folder, { recursive: true })
  }
}

describe("the bridge to OpenCode", () => {
  it("starts a server whose commands do not inherit its password", async () => {
    const { OPENCODE_CONFIG_CONTENT = "", OPENCODE_SERVER_PASSWORD = "" } = await environmentOf({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ lsp: false, plugin: ["other"] })
    })
    const { plugin, ...others } = JSON.parse(OPENCODE_CONFIG_CONTENT)
    assert.deepStrictEqual(others, { lsp: false })
    assert.strictEqual(plugin[0], "other")
    const { withoutPassword } = await import(plugin[1])
    const env: Record<string, string> = {}
    await (await withoutPassword())["shell.env"]({}, { env })
    const inherited = Object.assign({ OPENCODE_SERVER_PASSWORD }, env)
    assert.isAbove(OPENCODE_SERVER_PASSWORD.length, 40)
    assert.strictEqual(inherited.OPENCODE_SERVER_PASSWORD, "")
  })

  it("needs no configuration in the environment", async () => {
    const { OPENCODE_CONFIG_CONTENT = "" } = await environmentOf({ OPENCODE_CONFIG_CONTENT: "" })
    assert.deepStrictEqual(Object.keys(JSON.parse(OPENCODE_CONFIG_CONTENT)), ["plugin"])
  })
})
