/** An editor at an Edge: turns, decisions, questions, plans, stops, and how sessions are opened again. */
import { methods } from "@agentclientprotocol/sdk"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { choose, type EditorOptions, TestEditor } from "./TestEditor.ts"

const open = async (options: Partial<EditorOptions> = {}) => {
  const edge = await openEdgeInProcess()
  const editor = await TestEditor.open({ home: edge.home, ...options })
  onTestFinished(() => editor.close())
  return { edge, editor, session: await editor.create() }
}

describe("An editor at an Edge", () => {
  it("sends a prompt and receives its text, its tool calls and the end of the turn", async () => {
    const { editor, session } = await open()
    const answer = await editor.prompt(
      session,
      "/think about it\n/say hello\n/steps pending one | completed two"
    )
    assert.strictEqual(answer.stopReason, "end_turn")
    assert.strictEqual(editor.text.trim(), "hello")
    assert.strictEqual(editor.textOf("agent_thought_chunk"), "about it")
    const plan = editor.updates.find(({ sessionUpdate }) => sessionUpdate === "plan")
    assert.deepStrictEqual(plan, {
      sessionUpdate: "plan",
      entries: [
        { content: "one", priority: "medium", status: "pending" },
        { content: "two", priority: "medium", status: "completed" }
      ]
    })
  })

  it("decides an approval in the editor, and records the origin", async () => {
    const { edge, editor, session } = await open()
    const turn = editor.prompt(session, "/write notes.txt hello")
    const dialog = await editor.permission()
    assert.deepStrictEqual(
      dialog.params.options.map(({ kind, optionId }) => `${optionId}: ${kind}`),
      [
        "allow_once: allow_once",
        "allow_run: allow_always",
        "allow_session: allow_always",
        "allow_always: allow_always",
        "deny: reject_once",
        "stop: reject_once"
      ]
    )
    choose(dialog, "allow_once")
    assert.strictEqual((await turn).stopReason, "end_turn")
    const [approval] = await edge.client.approvals()
    assert.deepInclude(approval, { state: "approved", origin: "editor", decidedBy: "local" })
    assert.match(editor.text, /Write notes\.txt: approved by local in an editor/)
  })

  it("closes the dialog when someone else decides, and says who", async () => {
    const { edge, editor, session } = await open()
    const turn = editor.prompt(session, "/write notes.txt hello")
    const dialog = await editor.permission()
    const [approval] = await edge.client.approvals("state=pending")
    assert.isDefined(approval)
    await edge.client.decide(approval.runId, approval.id, "deny")
    await until(async () => dialog.signal.aborted || undefined, "the dialog closed")
    await turn
    assert.match(editor.text, /denied by local in a terminal/)
  })

  it("stops the run of a prompt that is cancelled", async () => {
    const { edge, editor, session } = await open()
    const turn = editor.prompt(session, "/say begun\n/hang")
    await editor.shows("begun")
    await editor.agent.notify(methods.agent.session.cancel, { sessionId: session })
    assert.strictEqual((await turn).stopReason, "cancelled")
    const { body } = await edge.client.ask("GET", "/v1/runs")
    assert.include(JSON.stringify(body), `"state":"cancelled"`)
  })
})
