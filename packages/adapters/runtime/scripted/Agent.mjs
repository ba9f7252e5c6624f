/** What an agent does: it speaks, calls tools, and asks before it acts where the run's mode says so. */
import { setTimeout as pause } from "node:timers/promises"
import { cancelled, decisionOf, send } from "./Host.mjs"
import { bytesOf, listing, runCommand, textOf, unifiedDiff, writeText } from "./Workspace.mjs"

/** `lastText` is the last thing it said: the result of the run. */
export const agent = { mode: "ask", lastText: undefined }
let counter = 0
export const next = (prefix) => `${prefix}${++counter}`
const openCalls = new Set()

export const say = async (text, { channel = "text", delay = 0 } = {}) => {
  const id = next("m")
  for (const piece of text.match(/\S+\s*|\s+/g) ?? []) {
    await send({ type: "delta", id, channel, text: piece })
    if (delay > 0) await pause(delay, undefined, { signal: cancelled })
  }
  await send({ type: "message", id, channel, text })
  if (channel === "text") agent.lastText = text
}

const call = async (tool, label, input) => {
  const id = next("c")
  openCalls.add(id)
  await send({ type: "tool", id, tool, label, input })
  return id
}

const close = async (id, status, output, exitCode) => {
  openCalls.delete(id)
  await send({ type: "result", id, status, output, exitCode })
}

/** Ends the calls that a script left open. */
export const closeAll = async (status) => {
  for (const id of openCalls) await close(id, status)
}

/** Waits for the decision; a cancel ends the wait. */
export const ask = async (request) => {
  const id = next("a")
  const decision = decisionOf(id)
  const asked = { editable: true, scopes: ["once", "run", "session", "always"], ...request }
  try {
    await send({ type: "approval", id, request: asked })
    return await decision
  } catch (cause) {
    await send({ type: "withdrawn", id, reason: "cancelled" })
    throw cause
  }
}

const refusesAll = () => agent.mode === "read_only" || agent.mode === "plan"
const refusal = () => `not allowed in mode ${agent.mode}`

export const list = async () => {
  const id = await call("list", "List files", {})
  const names = await listing()
  await close(id, "completed", names.join("\n"))
  return names
}

export const read = async (name) => {
  const id = await call("read", `Read ${name}`, { path: name })
  try {
    const text = await textOf(name)
    await send({ type: "read", path: name, call: id })
    await close(id, "completed", text)
    return text
  } catch (cause) {
    await close(id, "failed", cause.message)
    return undefined
  }
}

/** Hands a file over to be kept. */
export const attach = async (name, mediaType) => {
  const bytes = await bytesOf(name)
  await send({ type: "artifact", name, mediaType, content: bytes.toString("base64"), encoding: "base64" })
}

/** One pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** A call whose result has an image. */
export const image = async () => {
  const id = await call("image", "Take a picture", {})
  await send({
    type: "artifact",
    name: "picture.png",
    mediaType: "image/png",
    content: PIXEL,
    encoding: "base64",
    call: id
  })
  await close(id, "completed", "a picture")
}

/** Asks where the mode says so, then writes. Answers what was written, or why it was not. */
export const write = async (name, content) => {
  const id = await call("write", `Write ${name}`, { path: name, content })
  try {
    if (refusesAll()) {
      await close(id, "denied", refusal())
      return { denied: refusal() }
    }
    const before = await textOf(name).catch(() => undefined)
    const patch = unifiedDiff(name, before, content)
    await send({ type: "patch", path: name, patch, call: id })
    let wanted = { path: name, content }
    if (agent.mode === "ask") {
      const title = `Write ${name}`
      const request = {
        action: "write",
        risk: "low",
        title,
        tool: "write",
        callId: id,
        files: [name],
        patch,
        input: wanted
      }
      const decision = await ask(request)
      if (!decision.allow) {
        await close(id, "denied", decision.reason ?? "denied")
        return { denied: decision.reason ?? "denied" }
      }
      wanted = { ...wanted, ...decision.input }
    }
    const change = await writeText(String(wanted.path), String(wanted.content))
    await send({ type: "file", path: String(wanted.path), change, call: id })
    await close(id, "completed", `wrote ${Buffer.byteLength(String(wanted.content))} bytes to ${wanted.path}`)
    return { path: wanted.path }
  } catch (cause) {
    if (cancelled.aborted) throw cause
    await close(id, "failed", cause.message)
    return { denied: cause.message }
  }
}

export const shell = async (command) => {
  const id = await call("shell", command, { command })
  if (refusesAll()) return close(id, "denied", refusal())
  let wanted = { command }
  if (agent.mode !== "full_access") {
    const title = `Run ${command}`
    const request = {
      action: "shell",
      risk: "medium",
      title,
      tool: "shell",
      callId: id,
      command,
      cwd: ".",
      input: wanted
    }
    const decision = await ask(request)
    if (!decision.allow) return close(id, "denied", decision.reason ?? "denied")
    wanted = { ...wanted, ...decision.input }
  }
  const { code, output } = await runCommand(String(wanted.command), cancelled)
  return close(id, code === 0 ? "completed" : "failed", output, code)
}
