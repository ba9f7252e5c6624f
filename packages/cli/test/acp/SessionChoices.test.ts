/** Modes, models and agents of a session, and what an editor learns about its turns. */
import { methods } from "@agentclientprotocol/sdk"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { TestEditor } from "./TestEditor.ts"

const open = async () => {
  const edge = await openEdgeInProcess()
  const editor = await TestEditor.open({ home: edge.home })
  onTestFinished(() => editor.close())
  return { edge, editor }
}

const messageOf = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => "",
    (error: unknown) => String(Object(error).message)
  )

describe("The choices of a session", () => {
  it("are its modes, models and agents, and the next run has them", async () => {
    const { edge, editor } = await open()
    const created = await editor.agent.request(methods.agent.session.new, {
      cwd: editor.cwd,
      mcpServers: []
    })
    const { configOptions, modes, sessionId } = created
    assert.strictEqual(modes?.currentModeId, "ask")
    assert.deepStrictEqual(
      configOptions?.map(({ category, id }) => [id, category]),
      [
        ["mode", "mode"],
        ["model", "model"],
        ["agent", "_corral_agent"]
      ]
    )
    const set = (configId: string, value: string) =>
      editor.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value })
    await set("model", "large")
    const changed = await set("mode", "read_only")
    assert.include(JSON.stringify(changed.configOptions), `"currentValue":"large"`)
    await editor.prompt(sessionId, "/say hello")
    const { body } = await edge.client.ask("GET", "/v1/runs")
    assert.deepInclude(Object(body).items[0], { mode: "read_only", model: "large", agentId: "scripted" })

    assert.match(await messageOf(set("mode", "anything")), /no such mode\. Modes: .*ask/)
    assert.match(await messageOf(set("agent", "anything")), /no such agent/)
    assert.match(await messageOf(set("colour", "red")), /no such option/)
  })

  it("name work in the background, and the turn ends before it", async () => {
    const { editor } = await open()
    const session = await editor.create()
    const work = "/say started\n/work w1 command npm run dev\n/end-turn\n/sleep 300\n/worked w1 completed"
    const turn = await editor.prompt(session, work)
    assert.strictEqual(turn.stopReason, "end_turn")
    await editor.shows("working in the background: 1 (npm run dev)")
    await editor.shows("npm run dev: completed")
  })

  it("say once that MCP servers of the editor are not used", async () => {
    const { editor } = await open()
    const { sessionId } = await editor.agent.request(methods.agent.session.new, {
      cwd: editor.cwd,
      mcpServers: [{ name: "tools", command: "/bin/tools", args: [], env: [] }]
    })
    await editor.prompt(sessionId, "/say one")
    await editor.prompt(sessionId, "/say two")
    assert.strictEqual(editor.text.split("MCP servers of the editor are not used").length, 2)
  })

  it("fails the prompt of a run that fails, with the reason", async () => {
    const { editor } = await open()
    const session = await editor.create()
    assert.match(await messageOf(editor.prompt(session, "/fail The disk is full")), /The disk is full/)
    assert.notInclude(editor.text, "failed")
    assert.strictEqual((await editor.prompt(session, "/say again")).stopReason, "end_turn")
  })

  it("stops the turn of this editor when it closes the session", async () => {
    const { edge, editor } = await open()
    const session = await editor.create()
    const turn = editor.prompt(session, "/say begun\n/hang")
    await editor.shows("begun")
    await editor.agent.request(methods.agent.session.close, { sessionId: session })
    assert.strictEqual((await turn).stopReason, "cancelled")
    const { body } = await edge.client.ask("GET", "/v1/runs")
    assert.deepInclude(Object(body).items[0], { state: "cancelled" })
  })
})
