/** Questions and plans in an editor: as forms, as permission requests, and in words where an editor has neither. */
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { methods } from "@agentclientprotocol/sdk"
import { choose, type EditorOptions, TestEditor } from "./TestEditor.ts"

const forms = { elicitation: { form: {} } }

const open = async (options: Partial<EditorOptions> = {}) => {
  const edge = await openEdgeInProcess()
  const editor = await TestEditor.open({ home: edge.home, ...options })
  onTestFinished(() => editor.close())
  return { edge, editor, session: await editor.create() }
}

const FORM = JSON.stringify({
  kind: "question",
  title: "Deployment",
  questions: [
    {
      id: "where",
      text: "Where?",
      kind: "choice",
      options: [{ id: "a", label: "Alpha" }],
      allowsOther: true
    },
    {
      id: "what",
      text: "What?",
      kind: "choice",
      multiple: true,
      options: [
        { id: "x", label: "X" },
        { id: "y", label: "Y" }
      ]
    },
    { id: "count", text: "How many?", kind: "number", integer: true, min: 1, max: 9 },
    { id: "sure", text: "Sure?", kind: "boolean" }
  ]
})

describe("Questions in an editor", () => {
  it("shows a form, selects nothing in advance, and sends what the person entered", async () => {
    const { edge, editor, session } = await open({ capabilities: forms })
    const turn = editor.prompt(session, `/form ${FORM}`)
    const { answer, params } = await editor.form()
    assert(params.mode === "form" && "requestedSchema" in params)
    const text = JSON.stringify(params.requestedSchema)
    assert.notInclude(text, "default")
    assert.deepStrictEqual(Object.keys(Object(Object(params.requestedSchema).properties)), [
      "where",
      "where (other)",
      "what",
      "count",
      "sure"
    ])
    answer({
      action: "accept",
      content: { "where (other)": "Gamma", what: ["x", "y"], count: 3, sure: true }
    })
    assert.strictEqual((await turn).stopReason, "end_turn")
    const [input] = await edge.client.inputs()
    assert.deepInclude(input, {
      state: "answered",
      origin: "editor",
      answers: { where: { other: "Gamma" }, what: ["x", "y"], count: 3, sure: true }
    })
  })

  it("asks again with the reason when an answer does not fit", async () => {
    const { edge, editor, session } = await open({ capabilities: forms })
    const turn = editor.prompt(session, `/form ${FORM}`)
    const first = await editor.form()
    first.answer({ action: "accept", content: { where: "a", what: [], count: 99, sure: true } })
    const second = await editor.form(1)
    assert.match(second.params.message, /count/)
    second.answer({ action: "decline" })
    await turn
    const [input] = await edge.client.inputs()
    assert.strictEqual(input?.state, "declined")
  })

  it("offers the options of one choice as a permission request where there are no forms", async () => {
    const { edge, editor, session } = await open()
    const turn = editor.prompt(session, "/question Which colour? | Red | Blue")
    const dialog = await editor.permission()
    assert.deepStrictEqual(
      dialog.params.options.map(({ kind, name }) => [name, kind]),
      [
        ["Red", "allow_once"],
        ["Blue", "allow_once"],
        ["Skip", "reject_once"]
      ]
    )
    const blue = dialog.params.options[1]
    assert.isDefined(blue)
    choose(dialog, blue.optionId)
    await turn
    assert.match(editor.text, /Which colour\?: answered by local in an editor: Blue/)
    const [input] = await edge.client.inputs()
    assert.deepInclude(input, { state: "answered", origin: "editor" })
  })

  it("says where to answer what the editor cannot ask, and leaves it open", async () => {
    const { edge, editor, session } = await open()
    const turn = editor.prompt(session, "/question What is your name?")
    await editor.shows(/corral answer inq_/)
    const [input] = await edge.client.inputs("state=pending")
    assert.isDefined(input)
    assert.strictEqual(editor.permissions.length, 0)
    await edge.client.answer(input.runId, input.id, { answers: { [input.questions?.[0]?.id ?? ""]: "Ada" } })
    await turn
    assert.match(editor.text, /answered by local in a terminal: Ada/)
  })

  it("never puts a secret into a form", async () => {
    const { editor, session } = await open({ capabilities: forms })
    const turn = editor.prompt(session, "/secret The token?")
    await editor.shows(/corral answer inq_/)
    assert.strictEqual(editor.forms.length, 0)
    await editor.agent.notify(methods.agent.session.cancel, { sessionId: session })
    assert.strictEqual((await turn).stopReason, "cancelled")
  })

  it("does not answer when the person closes the form, and closes a form that someone else answers", async () => {
    const { edge, editor, session } = await open({ capabilities: forms })
    const turn = editor.prompt(session, "/question First? | A | B\n/question Second? | A | B")
    const first = await editor.form()
    first.answer({ action: "cancel" })
    await editor.shows(/corral answer inq_/)
    const [one] = await edge.client.inputs("state=pending")
    assert.isDefined(one)
    await edge.client.answer(one.runId, one.id, { decline: true })
    const second = await editor.form(1)
    const two = await until(
      async () => (await edge.client.inputs("state=pending")).find(({ id }) => id !== one.id),
      "the second question"
    )
    await edge.client.answer(two.runId, two.id, { decline: true })
    await until(async () => second.signal.aborted || undefined, "the form closed")
    await turn
  })

  it("approves a plan in a mode, and the session continues in it", async () => {
    const { edge, editor, session } = await open({ capabilities: forms })
    await editor.agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "plan" })
    const turn = editor.prompt(session, "/plan One step")
    const { answer, params } = await editor.form()
    assert.include(JSON.stringify(params), "approve_auto_edit")
    answer({ action: "accept", content: { decision: "approve_auto_edit", comment: "go" } })
    assert.strictEqual((await turn).stopReason, "end_turn")
    await until(
      async () => editor.textOf("user_message_chunk").includes("Carry it out") || undefined,
      "the work"
    )
    const runs = await until(async () => {
      const { body } = await edge.client.ask("GET", "/v1/runs")
      const { items } = Object(body) as { readonly items: ReadonlyArray<{ readonly mode: string }> }
      return items.length === 2 ? items : undefined
    }, "the second run")
    assert.deepStrictEqual(
      runs.map(({ mode }) => mode),
      ["auto_edit", "plan"]
    )
    assert.deepInclude(
      editor.updates.findLast(({ sessionUpdate }) => sessionUpdate === "current_mode_update"),
      { currentModeId: "auto_edit" }
    )
  })
})
