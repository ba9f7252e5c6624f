#!/usr/bin/env node
/**
 * Program with the name and the lines of Claude Code: streams as many deltas as its prompt says, as fast as the pipe takes them, half a second
 * after its first line, so that readers can connect.
 */
import { once } from "node:events"
import { createInterface } from "node:readline"
import { setImmediate as breathe, setTimeout as pause } from "node:timers/promises"

const VERSION = "2.1.329"
const SESSION = "8f14e45f-ceea-467f-9b1d-1f0c4d6a6c2e"

if (process.argv.includes("--version")) {
  process.stdout.write(`${VERSION} (Claude Code)\n`)
  process.exit(0)
}
if (process.argv[2] === "auth") {
  process.stdout.write('{"loggedIn":true}\n')
  process.exit(0)
}

const write = async (text) => {
  if (!process.stdout.write(text)) await once(process.stdout, "drain")
}
const line = (value) => `${JSON.stringify(value)}\n`
const of = (event) =>
  line({ type: "stream_event", event, session_id: SESSION, parent_tool_use_id: null, uuid: SESSION })

const stream = async (count) => {
  await write(
    line({
      type: "system",
      subtype: "init",
      session_id: SESSION,
      model: "bench",
      claude_code_version: VERSION
    })
  )
  await pause(500)
  await write(of({ type: "message_start", message: { id: "msg_bench" } }))
  await write(of({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }))
  const delta = of({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "x".repeat(100) }
  })
  for (let sent = 0; sent < count; sent += 64) {
    await write(delta.repeat(Math.min(64, count - sent)))
    await breathe()
  }
  await write(of({ type: "message_stop" }))
  await write(
    line({ type: "result", subtype: "success", is_error: false, result: "done", session_id: SESSION })
  )
}

const lines = createInterface({ input: process.stdin })
lines.on("line", (text) => {
  const { message, prompt = message?.content } = JSON.parse(text)
  if (prompt !== undefined) void stream(Number(prompt))
})
