/**
 * An agent of the Agent Client Protocol for pictures: works on a small shop by a script, as an agent would, and asks before it writes.
 *
 * What it does follows from words in the prompt. It keeps no conversation.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const update = (change) =>
  send({ method: "session/update", params: { sessionId: "example", update: change } })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

let calls = 0
const decisions = new Map()

const say = async (text) => {
  for (const word of text.split(/(?<=\s)/)) {
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: word } })
    await pause(4)
  }
}

const think = (text) => update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } })

const call = (kind, title, rawInput, locations = []) => {
  const toolCallId = `call-${++calls}`
  update({ sessionUpdate: "tool_call", toolCallId, kind, title, rawInput, locations, status: "in_progress" })
  return toolCallId
}

const finish = (toolCallId, text, status = "completed") =>
  update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status,
    ...(text === undefined ? {} : { content: [{ type: "content", content: { type: "text", text } }] })
  })

const read = async (path) => {
  const id = call("read", `Read ${path}`, { file_path: path }, [{ path }])
  await pause(120)
  finish(id, readFileSync(path, "utf8"))
}

/** Whether the user allows the call. */
const mayDo = (toolCall) => {
  const id = `ask-${toolCall.toolCallId}`
  const options = [
    { optionId: "allow", kind: "allow_once", name: "Allow" },
    { optionId: "reject", kind: "reject_once", name: "Reject" }
  ]
  send({ id, method: "session/request_permission", params: { sessionId: "example", toolCall, options } })
  return new Promise((resolve) => decisions.set(id, resolve))
}

const edit = async (path, newText, oldText = readFileSync(path, "utf8")) => {
  const rawInput = { file_path: path, old_string: oldText, new_string: newText }
  const id = call("edit", `Edit ${path}`, rawInput, [{ path }])
  const content = [{ type: "diff", path, oldText, newText }]
  const allowed = await mayDo({ toolCallId: id, kind: "edit", title: `Edit ${path}`, rawInput, content })
  if (allowed) writeFileSync(path, newText)
  finish(id, undefined, allowed ? "completed" : "failed")
}

const run = async (command, output, ms = 900) => {
  const id = call("execute", command, { command })
  const allowed = await mayDo({ toolCallId: id, kind: "execute", title: command, rawInput: { command } })
  if (allowed) await pause(ms)
  finish(id, allowed ? output : undefined, allowed ? "completed" : "failed")
  return allowed
}

const tests = (count) =>
  `> shop@1.4.0 test\n> node --test\n\n${[
    "opens at nine on weekdays",
    "opens at ten on Sundays",
    "is closed on Sundays at 14:00"
  ]
    .slice(0, count)
    .map((name, at) => `✔ ${name} (${(0.4 + at / 10).toFixed(1)}ms)`)
    .join("\n")}\nℹ tests ${count}\nℹ pass ${count}\nℹ fail 0\n`

const hours = `/** Opening hours by weekday, in local time. Sunday is day 0. */
const weekdays = { open: 9, close: 18 }
const sundays = { open: 10, close: 14 }

export const hoursOn = (day) => (day === 0 ? sundays : weekdays)

export const isOpen = (date) => {
  const { open, close } = hoursOn(date.getDay())
  return date.getHours() >= open && date.getHours() < close
}
`
const sundayTests = `
test("opens at ten on Sundays", () => {
  assert.equal(isOpen(new Date(2026, 10, 22, 9, 30)), false)
  assert.equal(isOpen(new Date(2026, 10, 22, 10, 0)), true)
})

test("is closed on Sundays at 14:00", () => {
  assert.equal(isOpen(new Date(2026, 10, 22, 14, 0)), false)
})
`

const fixHours = async () => {
  think("The page shows what isOpen and hoursOn return. I should find where Sunday is handled.")
  await say("I'll look at how the hours are computed before I change anything.\n\n")
  await read("src/hours.js")
  await read("src/page.js")
  await read("test/hours.test.js")
  await say("`hoursOn` ignores the weekday. I'll give Sundays their own hours and test both.\n\n")
  await edit("src/hours.js", hours)
  await edit("test/hours.test.js", readFileSync("test/hours.test.js", "utf8") + sundayTests)
  await run("npm test", tests(3))
  await say(
    "Sundays have their own hours now, and every other day is as before.\n\n" +
      "- `hoursOn(0)` returns **10 to 14**; the page uses it without a change.\n" +
      "- Two tests cover the first and the last minute of a Sunday.\n\n" +
      "```js\nexport const hoursOn = (day) => (day === 0 ? sundays : weekdays)\n```\n\nAll 3 tests pass."
  )
}

const holidays = async () => {
  await say("Public holidays can use the hours of a Sunday. I'll check what the calendar offers first.\n\n")
  await read("src/hours.js")
  await read("src/page.js")
  await read("package.json")
  const id = call("execute", "npm test", { command: "npm test" })
  update({
    sessionUpdate: "agent_message_chunk",
    content: {
      type: "text",
      text: "The calendar lists them by date, so one lookup is enough. I'm running the tests before I change it."
    }
  })
  await pause(600_000)
  finish(id, tests(3))
}

const release = async () => {
  await say(
    "The tests pass and the changelog has an entry. I'll publish the package and tell the shop's channel.\n\n"
  )
  const command =
    "npm version minor && npm publish --access public && curl -fsS https://hooks.example.com/releases -d @CHANGELOG.md"
  if (await run(command, "+ shop@1.5.0\n")) await say("Version 1.5.0 is published.")
  else await say("I did not publish anything.")
}

const notes = async () => {
  await read("CHANGELOG.md")
  await edit(
    "CHANGELOG.md",
    "# Changelog\n\n## 1.5.0\n\n- Sundays have their own opening hours.\n\n## 1.4.0\n\n- The page shows the hours.\n"
  )
  await say("The changelog has an entry for 1.5.0.")
}

const work = async (prompt) => {
  if (/changelog/.test(prompt)) return notes()
  if (/Sunday/.test(prompt)) return fixHours()
  if (/holiday/.test(prompt)) return holidays()
  if (/[Pp]ublish/.test(prompt)) return release()
  if (/dependencies/.test(prompt)) {
    await read("package.json")
    throw new Error("The model service is overloaded. Try again in a few minutes.")
  }
  await read("src/hours.js")
  await say("The imports are sorted, and nothing else changed.")
}

const answer = async ({ id, method, params, result }) => {
  if (method === undefined) return decisions.get(id)?.(result?.outcome?.optionId === "allow")
  if (method === "initialize")
    return send({ id, result: { protocolVersion: 1, agentInfo: { name: "example", version: "1.0.0" } } })
  if (method === "session/new")
    return send({
      id,
      result: {
        sessionId: "example",
        modes: { currentModeId: "careful", availableModes: [{ id: "careful", name: "Careful" }] }
      }
    })
  if (method !== "session/prompt")
    return id === undefined ? undefined : send({ id, error: { code: -32601, message: "not served" } })
  try {
    await work(params.prompt.map(({ text = "" }) => text).join("\n"))
    send({ id, result: { stopReason: "end_turn" } })
  } catch (error) {
    send({ id, error: { code: -32603, message: error.message } })
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => void answer(JSON.parse(line)))
  .on("close", () => process.exit(0))
