/** Turns that an editor drives: an approval, a question, a plan, a stop, a reconnection in the middle of a turn, and a resumed session. */
import { methods } from "@agentclientprotocol/sdk"
import { assert } from "@effect/vitest"
import { choose, type TestEditor } from "./TestEditor.ts"

/** Editors need forms. `open` connects another one. */
export const driveEditorTurns = async (open: () => Promise<TestEditor>): Promise<void> => {
  const first = await open()
  const session = await first.create()

  const approved = first.prompt(session, "/write one.txt hello\n/say approval done")
  choose(await first.permission(), "allow_once")
  assert.strictEqual((await approved).stopReason, "end_turn")
  assert.include(first.text, "approval done")
  assert.match(first.text, /Write one\.txt: approved by \S+ in an editor/)

  const answered = first.prompt(session, "/question Which colour? | Red | Blue")
  const form = await first.form()
  assert.include(JSON.stringify(form.params), "Blue")
  const [property] = Object.entries(propertiesOf(form.params))
  assert.isDefined(property)
  const [questionId, schema] = property
  form.answer({ action: "accept", content: { [questionId]: schema.oneOf?.[1]?.const ?? "" } })
  assert.strictEqual((await answered).stopReason, "end_turn")
  assert.match(first.text, /answered by \S+ in an editor: Blue/)

  await first.agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "plan" })
  const planned = first.prompt(session, "/plan One step")
  const plan = await first.form(1)
  plan.answer({ action: "accept", content: { decision: "return", comment: "shorter" } })
  assert.strictEqual((await planned).stopReason, "end_turn")
  assert.match(first.text, /plan sent back by \S+ in an editor: shorter/)
  await first.agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "ask" })

  const stopped = first.prompt(session, "/say hanging\n/hang")
  await first.shows("hanging")
  await first.agent.notify(methods.agent.session.cancel, { sessionId: session })
  assert.strictEqual((await stopped).stopReason, "cancelled")

  first.prompt(session, "/say before\n/write two.txt hello\n/say after").catch(() => undefined)
  await first.permission(1)
  for (const text of ["approval done", "hanging"])
    assert.strictEqual(first.text.split(text).length, 2, `${text} in ${first.text}`)
  await first.close()
  const second = await open()
  await second.load(session)
  for (const text of ["approval done", "Blue", "hanging", "before"])
    assert.strictEqual(second.text.split(text).length > 1, true, `${text} in ${second.text}`)
  assert.strictEqual(second.text.split("approval done").length, 2)
  choose(await second.permission(), "allow_once")
  await second.shows("after")
  await second.close()

  const third = await open()
  await third.agent.request(methods.agent.session.resume, { sessionId: session, cwd: third.cwd })
  assert.strictEqual((await third.prompt(session, "/say resumed")).stopReason, "end_turn")
  // What came after the second editor had gone is not lost; what that editor had is not repeated.
  assert.match(third.text, /resumed\s*$/)
  assert.notInclude(third.text, "after")
  assert.isTrue(third.updates.every(({ sessionUpdate }) => sessionUpdate !== "user_message_chunk"))
}

interface Property {
  readonly oneOf?: ReadonlyArray<{ readonly const: string }>
}

const propertiesOf = (params: unknown): Readonly<Record<string, Property>> =>
  Object(Object(params).requestedSchema).properties
