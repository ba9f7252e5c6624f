/** Sessions that an editor opens again: load, resume, lists, and a reconnection in the middle of a turn. */
import { methods } from "@agentclientprotocol/sdk"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { choose, TestEditor } from "./TestEditor.ts"

const editorAt = async (home: string) => {
  const editor = await TestEditor.open({ home })
  onTestFinished(() => editor.close())
  return editor
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

describe("A session that is opened again", () => {
  it("is loaded with all messages, tool calls and decisions, each once", async () => {
    const edge = await openEdgeInProcess()
    const first = await editorAt(edge.home)
    const session = await first.create()
    await first.prompt(session, "/say one")
    const turn = first.prompt(session, "/write notes.txt hello\n/say two")
    choose(await first.permission(), "allow_once")
    await turn
    await first.close()

    const second = await editorAt(edge.home)
    await second.load(session)
    assert.deepStrictEqual(lines(second.text), lines(first.text))
    assert.strictEqual(second.permissions.length, 0)
    assert.include(second.textOf("user_message_chunk"), "/say one")
    const calls = (editor: TestEditor) =>
      editor.updates.flatMap((update) => (update.sessionUpdate === "tool_call" ? [update.toolCallId] : []))
    assert.deepStrictEqual(calls(second), calls(first))
    await second.prompt(session, "/say three")
    assert.strictEqual(lines(second.text).at(-1), "three")
  })

  it("is loaded in the middle of a turn, with its open approval", async () => {
    const edge = await openEdgeInProcess()
    const first = await editorAt(edge.home)
    const session = await first.create()
    void first.prompt(session, "/say before\n/write notes.txt hello\n/say after").catch(() => undefined)
    await first.permission()
    await first.close()

    const second = await editorAt(edge.home)
    await second.load(session)
    assert.include(second.text, "before")
    choose(await second.permission(), "allow_once")
    await second.shows("after")
    assert.strictEqual(second.text.split("before").length, 2)
  })

  it("is resumed without what the editor has, and announces calls before it updates them", async () => {
    const edge = await openEdgeInProcess()
    const first = await editorAt(edge.home)
    const session = await first.create()
    await first.prompt(session, "/say one")
    void first.prompt(session, "/say before\n/write notes.txt hello\n/say after").catch(() => undefined)
    await first.permission()
    await first.close()

    const second = await editorAt(edge.home)
    await second.agent.request(methods.agent.session.resume, { sessionId: session, cwd: "/home/person/code" })
    choose(await second.permission(), "allow_once")
    await second.shows("after")
    assert.notInclude(second.text, "before")
    assert.notInclude(second.text, "one")
    const announced = new Set<string>()
    for (const update of second.updates) {
      if (update.sessionUpdate === "tool_call") announced.add(update.toolCallId)
      if (update.sessionUpdate === "tool_call_update") assert.isTrue(announced.has(update.toolCallId))
    }
  })

  it("lists the sessions of the workspace, and refuses one that does not exist", async () => {
    const edge = await openEdgeInProcess()
    const editor = await editorAt(edge.home)
    const session = await editor.create()
    await editor.prompt(session, "/say one")
    const { sessions } = await editor.agent.request(methods.agent.session.list, { cwd: "/home/person/code" })
    assert.deepStrictEqual(
      sessions.map(({ cwd, sessionId, title }) => ({ cwd, sessionId, title })),
      [{ cwd: "/home/person/code", sessionId: session, title: "/say one" }]
    )
    const refusal: unknown = await editor.load("ses_missing").catch((error: unknown) => error)
    assert.deepInclude(Object(refusal), { code: -32002 })
    const closed = await editor.agent.request(methods.agent.session.close, { sessionId: session })
    assert.deepStrictEqual(closed, {})
    const after: unknown = await editor.prompt(session, "/say x").catch((error: unknown) => error)
    assert.deepInclude(Object(after), { code: -32002 })
  })

  it("queues a prompt behind a turn that another client began", async () => {
    const edge = await openEdgeInProcess()
    const first = await editorAt(edge.home)
    const session = await first.create()
    void first.prompt(session, "/say begun\n/write notes.txt hello").catch(() => undefined)
    await first.permission()
    await first.close()
    const second = await editorAt(edge.home)
    await second.load(session)
    const turn = second.prompt(session, "/say next")
    choose(await second.permission(), "allow_once")
    assert.strictEqual((await turn).stopReason, "end_turn")
    await until(async () => second.text.includes("next") || undefined, "the next turn")
  })
})
