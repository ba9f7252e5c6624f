/** `corral chat` with an Edge alone: runs that continue each other. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Run } from "@corral/domain/run/Run"
import { hasTerminals } from "@corral/testing/process/TerminalProgram"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"

const corral = new Corral()
let edge: Awaited<ReturnType<typeof corral.up>>["edge"]

beforeAll(async () => {
  edge = (await corral.up()).edge
})
afterAll(() => corral.close())

describe.skipIf(!hasTerminals)("corral chat with an Edge alone", () => {
  it("queues messages in the terminal, continues the conversation, and resumes it later", async () => {
    const chat = corral.inTerminal(80, "chat", "--agent", "scripted")
    await chat.shows(/^ready · scripted in sample on this machine · ask$/m)
    chat.enter("/attach notes.md")
    await chat.shows(/^Files need a Hub: an Edge alone does not store them\.$/m)
    chat.enter("//say one\\")
    chat.enter("/wait")
    await chat.shows(/^one$/m)
    chat.enter("//say two")
    await chat.shows(/^queued: \/say two$/m)
    chat.enter("!go on")
    await chat.shows(/^two$/m)
    await chat.shows(/^ready · /m)
    const runs = (await corral.run("runs", "--json")).out.map((line) => JSON.parse(line))
    assert.deepStrictEqual(
      runs.map(({ resume, sessionId }) => [resume, sessionId]),
      [
        [runs[1].id, runs[1].sessionId],
        [undefined, runs[1].sessionId]
      ]
    )
    chat.type("\u0003")
    await chat.shows(/Press Ctrl-C again to leave\./)
    // If the first of the two came too late, they are the pair.
    chat.type("\u0003\u0003")
    assert.strictEqual(await chat.ended, 0, chat.screen)

    const next = corral.inTerminal(44, "chat", "--continue")
    await next.shows(/^› \/say two$/m)
    next.enter("/changes")
    await next.shows(/^The run changed no files\.$/m)
    next.enter("//say three")
    await next.shows(/^three$/m)
    await next.shows(/^ready · /m)
    next.type("\u0004")
    assert.strictEqual(await next.ended, 0, next.screen)
    const [latest] = (await corral.run("runs", "--json", "--limit", "1")).out.map((line) => JSON.parse(line))
    assert.strictEqual(latest.resume, runs[0].id)
  })

  it("stops a turn by the budget of /budget, and by that of the command line", async () => {
    const chat = corral.inTerminal(100, "chat", "--agent", "scripted", "--budget-turns", "9")
    await chat.shows(/^ready · scripted in sample on this machine · ask · 9 turns$/m)
    chat.enter("/budget")
    await chat.shows(/^Limits: 9 turns\.$/m)
    chat.enter("/budget turns=none")
    await chat.shows(/^turns is a whole number from 1\.$/m)
    chat.enter("/budget turns=2 time=10m")
    await chat.shows(/^Limits: 2 turns, 10 min\.$/m)
    chat.enter("//use 1\\")
    chat.enter("/use 1\\")
    chat.enter("/sleep 60000")
    await chat.shows(/The run's turn budget is used up\. \(budget_exceeded\)/)
    const [stopped] = (await corral.run("runs", "--json", "--limit", "1")).out.map((line) => JSON.parse(line))
    assert.deepStrictEqual(stopped.budget, { turns: 2, wallMs: 600_000 })
    chat.enter("/budget off")
    await chat.shows(/^Limits: the agent's own\.$/m)
    chat.enter("//use 1\\")
    chat.enter("/use 1\\")
    chat.enter("/say not limited")
    await chat.shows(/^not limited$/m)
    chat.enter("/quit")
    assert.strictEqual(await chat.ended, 0, chat.screen)
  })

  it("lists the changes of a turn, and undoes them", async () => {
    const chat = corral.inTerminal(100, "chat", "--agent", "scripted", "--mode", "auto_edit")
    await chat.shows(/^ready · /m)
    chat.enter("/undo")
    await chat.shows(/^No turn in this chat yet\.$/m)
    chat.enter("//write undone.txt some text\\")
    chat.enter("/write other.txt other\\")
    chat.enter("/say written")
    await chat.shows(/^written$/m)
    await chat.shows(/^ready · /m)
    chat.enter("/changes")
    await chat.shows(/added {5}\+1 -0 {2}undone\.txt/)
    chat.enter("/changes undone.txt")
    await chat.shows(/\+some text/)
    chat.enter("/accept")
    await chat.shows(/Name what you accept: \/accept all, a path, or an id that \/changes shows\./)
    chat.enter("/accept all")
    await chat.shows(/can be undone only/)
    chat.enter("/undo missing.txt")
    await chat.shows(/^No changes of missing\.txt\.$/m)
    chat.enter("/undo undone.txt")
    await chat.shows(/Undone: 1 file, \+0 -1\. 1 file left\./)
    assert.isFalse(existsSync(join(corral.home, "sample", "undone.txt")))
    assert.isTrue(existsSync(join(corral.home, "sample", "other.txt")))
    chat.enter("/undo")
    await chat.shows(/Undone: 1 file, \+0 -1\. Everything is undone\./)
    assert.isFalse(existsSync(join(corral.home, "sample", "other.txt")))
    chat.enter("/quit")
    assert.strictEqual(await chat.ended, 0, chat.screen)
  })

  it("holds queued messages after a stop and after an error, until the user continues", async () => {
    const chat = corral.inTerminal(80, "chat", "--agent", "scripted")
    await chat.shows(/^ready · /m)
    chat.enter("/continue")
    await chat.shows(/^No messages are held\.$/m)
    for (const end of ["/stop", "!/fail"]) {
      chat.enter(`//say working ${end.length}\\`)
      chat.enter("/wait\\")
      chat.enter("/fail now")
      await chat.shows(new RegExp(`^working ${end.length}$`, "m"))
      chat.enter(`//say after ${end.length}`)
      await chat.shows(new RegExp(`^queued: /say after ${end.length}$`, "m"))
      chat.enter(end)
      await chat.shows(new RegExp(`^held: /say after ${end.length}$`, "m"))
      await chat.shows(/^1 held · \/continue · /m)
      chat.enter(`//say new ${end.length}`)
      await chat.shows(new RegExp(`^new ${end.length}$`, "m"))
      await chat.shows(/^1 held · \/continue · /m)
      chat.enter("/continue")
      await chat.shows(new RegExp(`^after ${end.length}$`, "m"))
      await chat.shows(/^ready · /m)
    }
    chat.enter("/quit")
    assert.strictEqual(await chat.ended, 0, chat.screen)
  })

  it("follows a turn across a restart of the Edge, and leaves the terminal as it was", async () => {
    const chat = corral.inTerminal(80, "chat", "--agent", "scripted")
    await chat.shows(/^ready · /m)
    chat.enter("//say here\\")
    chat.enter("/hang")
    await chat.shows(/^here$/m)
    edge.child.kill("SIGKILL")
    await edge.ended
    await chat.shows(/^Connection lost\. Reconnecting\.$/m)
    edge = (await corral.up()).edge
    await chat.shows(/^Reconnected\.$/m)
    await chat.shows(/^failed: /m)
    chat.enter("//say again")
    await chat.shows(/^again$/m)
    await chat.shows(/^ready · /m)
    // The Edge has another address.
    chat.enter("/changes")
    await chat.shows(/^The run changed no files\.$/m)
    chat.enter("/quit")
    assert.strictEqual(await chat.ended, 0, chat.screen)
    assert.isTrue(chat.raw.endsWith("\u001b[?2004l"), JSON.stringify(chat.raw.slice(-40)))
  })
})

/** An agent of the Agent Client Protocol that keeps no conversation: each prompt is answered with its own words. */
const forgetful = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }))
  const results = {
    initialize: { protocolVersion: 1, agentInfo: { name: "forgetful", version: "1.0.0" } },
    "session/new": {
      sessionId: "only",
      modes: { currentModeId: "careful", availableModes: [{ id: "careful", name: "Careful" }] }
    },
    "session/prompt": { stopReason: "end_turn" }
  }
  if (method === "session/prompt")
    send({
      method: "session/update",
      params: {
        sessionId: "only",
        update: {
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: "heard " + params.prompt.map(({ text }) => text).join("") }
        }
      }
    })
  if (id !== undefined)
    send(results[method] === undefined ? { id, error: { code: -32601, message: "not served" } } : { id, result: results[method] })
})
`

describe.skipIf(!hasTerminals)("corral chat with an agent that keeps no conversation", () => {
  const forgetting = new Corral()
  afterAll(() => forgetting.close())

  it("begins again, and shows no failure in the chat, in its history and in the list of runs", async () => {
    const agent = join(forgetting.home, "..", "forgetful.cjs")
    writeFileSync(agent, forgetful)
    mkdirSync(forgetting.home, { mode: 0o700 })
    const acp = { name: "forgetful", command: process.execPath, args: [agent], modes: { ask: "careful" } }
    writeFileSync(join(forgetting.home, "edge.config.json"), JSON.stringify({ acp }), { mode: 0o600 })
    const { url } = await forgetting.up()
    const chat = forgetting.inTerminal(80, "chat", "--agent", "acp:forgetful")
    await chat.shows(/^ready · /m)
    chat.enter("one")
    await chat.shows(/^heard one$/m)
    await chat.shows(/^ready · /m)
    chat.enter("two")
    await chat.shows(/^heard two$/m)
    await chat.shows(/^This agent does not remember earlier turns\.$/m)
    // The run has completed.
    await chat.shows(/^ready · /m)
    assert.notMatch(chat.screen, /failed|Start a new run/, chat.screen)
    chat.enter("/quit")
    assert.strictEqual(await chat.ended, 0, chat.screen)
    const { out } = await forgetting.run("runs", "--json")
    assert.deepStrictEqual(
      out.map((line) => JSON.parse(line)).map(({ input, state }) => [input.text, state]),
      [
        ["two", "completed"],
        ["one", "completed"]
      ]
    )
    const failed = await forgetting.run("runs", "--state", "failed")
    assert.deepStrictEqual(failed.out, ["No runs found."])
    const [latest] = out.map((line) => JSON.parse(line))
    const token = readFileSync(join(forgetting.home, "edge.token"), "utf8").trim()
    const all = await fetch(`${url}/v1/runs?replaced=true&state=failed`, {
      headers: { authorization: `Bearer ${token}` }
    })
    const { items } = (await all.json()) as { readonly items: ReadonlyArray<Run> }
    assert.deepStrictEqual(
      items.map(({ input, replacedBy }) => [input.text, replacedBy]),
      [["two", latest.id]]
    )
    const next = forgetting.inTerminal(80, "chat", "--continue")
    await next.shows(/^heard two$/m)
    assert.notMatch(next.screen, /failed|Start a new run/)
    next.type("\u0004")
    assert.strictEqual(await next.ended, 0, next.screen)
  })
})
