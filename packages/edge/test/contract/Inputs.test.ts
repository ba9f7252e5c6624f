/** Questions, forms and plans as a client meets them: answered, declined, raced, expired, withdrawn; and never answered by anything but a person. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { RunMode } from "@corral/domain/run/Run"
import { sealValue } from "@corral/domain/input/Seal"
import { codeOf, type EdgeClient, type EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assertWhole } from "../harness/LogInvariants.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({ grants: ["full_access"] })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

interface QuestionRun {
  readonly runId: string
  readonly inputId: string
  readonly reader: EventReader
}

const ask = async (script: string, mode: RunMode = "ask", more: object = {}): Promise<QuestionRun> => {
  const { id: runId } = await client.create(script, mode, { ...more })
  const reader = await client.follow({ runId })
  const { payload } = await reader.event("run.input.requested")
  return { runId, reader, inputId: String(payload["inputId"]) }
}

const ended = async ({ reader }: Pick<QuestionRun, "reader">) => {
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return reader.events.at(-1)
}

const spokenTexts = ({ reader }: QuestionRun) =>
  reader.events.flatMap(({ payload, type }) =>
    type === "run.message.completed" && payload["role"] === "assistant" ? [String(payload["text"])] : []
  )

const resolution = ({ inputId, reader }: QuestionRun) =>
  reader.events.find((e) => e.type === "run.input.resolved" && e.payload["inputId"] === inputId)?.payload

const COLOUR = "/question Which colour? | Red | Blue\n/say over"

const form = (questions: ReadonlyArray<object>) =>
  `/form ${JSON.stringify({ kind: "question", title: "Form", questions })}\n/say over`

describe("A question", () => {
  it("is declined with a notice if its answer would not say which part it answers", async () => {
    const text = { id: "a", text: "Which?", kind: "text" }
    const choice = { ...text, kind: "choice", options: ["A", "B"].map((label) => ({ id: "1", label })) }
    for (const questions of [[text, { ...text, kind: "number" }], [choice]]) {
      const { id: runId } = await client.create(form(questions), "ask")
      const reader = await client.follow({ runId })
      assert.strictEqual((await ended({ reader }))?.type, "run.completed")
      const types = reader.events.map(({ type }) => type)
      assert.notInclude(types, "run.input.requested")
      assert.include(types, "run.notice")
      assert.include(JSON.stringify(reader.events), "unanswered: Two parts of the question have the same id.")
    }
  })

  it("shows up to 32 questions, and says that there are more", async () => {
    const questions = Array.from({ length: 33 }, (_, at) => ({ id: `${at}`, text: "Which?", kind: "text" }))
    const { inputId, reader, runId } = await ask(form(questions))
    const [notice] = reader.events.flatMap(({ payload, type }) => (type === "run.notice" ? [payload] : []))
    assert.deepInclude(notice, { text: "The agent asked 33 questions. The first 32 are shown." })
    await client.answer(runId, inputId, { decline: true })
    assert.strictEqual((await ended({ reader }))?.type, "run.completed")
  })

  it("waits for a person in every mode, and the runtime receives exactly the answer", async () => {
    for (const mode of ["ask", "auto_edit", "full_access", "plan", "read_only"] as const) {
      const question = await ask(COLOUR, mode)
      const run = await client.run(question.runId)
      assert.strictEqual(run.state, "waiting_input", mode)
      assert.deepStrictEqual(run.pendingInputs?.map(String), [question.inputId])
      const [pending] = await client.inputs(`runId=${question.runId}&state=pending`)
      assert.deepInclude(pending, { id: question.inputId, kind: "question", title: "Which colour?" } as never)
      const answer = await client.answer(question.runId, question.inputId, { answers: { "1": "2" } })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual((await ended(question))?.type, "run.completed")
      assert.deepStrictEqual(spokenTexts(question), ['answered {"1":"2"}', "over"])
      assert.deepInclude(resolution(question), {
        state: "answered",
        answers: { "1": "2" },
        by: "local",
        origin: "terminal"
      })
      const { answeredBy, answers, state } = await client.input(question.inputId)
      assert.deepStrictEqual({ answeredBy, answers, state } as never, {
        answeredBy: "local",
        answers: { "1": "2" },
        state: "answered"
      })
    }
  })

  it("accepts several options with a text of the person", async () => {
    const question = await ask("/question Which? | ? Tea | Milk | Sugar")
    const answers = { "1": ["1", { other: "a lot of honey" }] }
    const answer = await client.answer(question.runId, question.inputId, { answers, comment: "thanks" })
    assert.strictEqual(answer.status, 200, answer.text)
    await ended(question)
    assert.deepStrictEqual(spokenTexts(question), [`answered ${JSON.stringify(answers)} (thanks)`])
  })

  it("that is declined reaches the runtime without a choice", async () => {
    const question = await ask(COLOUR)
    await client.answer(question.runId, question.inputId, { decline: true, comment: "ask me tomorrow" })
    await ended(question)
    assert.deepStrictEqual(spokenTexts(question), ["unanswered: ask me tomorrow", "over"])
    assert.deepInclude(resolution(question), { state: "declined", by: "local" })
  })

  it("that expires reaches the runtime without a choice and without a name", async () => {
    const question = await ask(COLOUR, "full_access", { inputTtlMs: 1_000 })
    assert.isString((await client.input(question.inputId)).expiresAt)
    await ended(question)
    assert.deepStrictEqual(spokenTexts(question), [
      "unanswered: The question expired before anyone answered.",
      "over"
    ])
    assert.notProperty(resolution(question), "by")
    const late = await client.answer(question.runId, question.inputId, { answers: { "1": "1" } })
    assert.strictEqual(codeOf(late), "input_expired")
    assert.strictEqual(late.status, 410)
  })

  it("that the runtime no longer asks is withdrawn, or answered by itself, without a name", async () => {
    for (const [word, state] of [
      ["withdraw", "withdrawn"],
      ["self-answer", "self_answered"]
    ] as const) {
      const question = await ask(`/${word} Which? | A | B\n/wait`)
      await question.reader.event("run.input.resolved")
      const late = await client.answer(question.runId, question.inputId, { answers: { "1": "1" } })
      assert.strictEqual(codeOf(late), "input_already_resolved")
      assert.deepStrictEqual(detailsOf(late), { inputId: question.inputId, state })
      await client.ask("POST", `/v1/runs/${question.runId}/input`, { body: { text: "on" } })
      await ended(question)
      assert.deepStrictEqual(spokenTexts(question), [`went on: ${state}`, "on"])
      assert.notProperty(resolution(question), "by")
    }
  })

  it("of a cancelled run is cancelled, and no longer open", async () => {
    const question = await ask(COLOUR)
    assert.strictEqual((await client.cancel(question.runId)).status, 200)
    await ended(question)
    assert.deepInclude(resolution(question), { state: "cancelled" })
    const late = await client.answer(question.runId, question.inputId, { answers: { "1": "1" } })
    assert.strictEqual(late.status, 409)
    assert.deepStrictEqual(detailsOf(late), { inputId: question.inputId, state: "cancelled" })
  })

  it("is answered once: the first wins, others learn its name", async () => {
    const question = await ask(COLOUR)
    const answers = await Promise.all(
      ["1", "2", "1"].map((id) => client.answer(question.runId, question.inputId, { answers: { "1": id } }))
    )
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
    for (const answer of answers.filter(({ status }) => status === 409))
      assert.deepStrictEqual(detailsOf(answer), {
        inputId: question.inputId,
        state: "answered",
        answeredBy: "local"
      })
    await ended(question)
    const winner = (await client.input(question.inputId)).answers
    assert.deepStrictEqual(spokenTexts(question), [`answered ${JSON.stringify(winner)}`, "over"])
  })

  it("gives the same answer again for the same idempotency key, and no other", async () => {
    const question = await ask(COLOUR)
    const headers = { "idempotency-key": "colour-1" }
    const give = (id: string) =>
      client.answer(question.runId, question.inputId, { answers: { "1": id } }, headers)
    const first = await give("1")
    assert.strictEqual(first.status, 200)
    const again = await give("1")
    assert.strictEqual(again.status, 200)
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await give("2")), "idempotency_conflict")
    await ended(question)
  })

  it("refuses what does not fit before anything is resolved, with an issue for each question", async () => {
    const questions = [
      { id: "colour", text: "Which?", kind: "choice", options: [{ id: "a", label: "A" }] },
      { id: "age", text: "How old?", kind: "number", integer: true, max: 200 }
    ]
    const form = { kind: "question", title: "A form", questions }
    const question = await ask(`/form ${JSON.stringify(form)}`)
    const give = (answer: object) => client.answer(question.runId, question.inputId, answer)
    const cases: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
      [{ answers: {} }, ["answers.colour", "answers.age"]],
      [{ answers: { colour: "b", age: 1.5 } }, ["answers.colour", "answers.age"]],
      [{ answers: { colour: "a", age: 201 } }, ["answers.age"]],
      [{ answers: { colour: "a", age: 3, other: "x" } }, ["answers"]],
      [{ answers: { colour: { other: "c" }, age: 3 } }, ["answers.colour"]],
      [{ approve: true }, ["approve"]]
    ]
    for (const [answer, paths] of cases) {
      const refused = await give(answer)
      assert.strictEqual(refused.status, 422, refused.text)
      assert.deepStrictEqual(issuesOf(refused), paths)
    }
    assert.strictEqual((await client.input(question.inputId)).state, "pending")
    assert.strictEqual((await give({ answers: { colour: "a", age: 3 } })).status, 200)
    await ended(question)
    assert.deepStrictEqual(spokenTexts(question), ['answered {"colour":"a","age":3}'])
  })

  it("is not found where there is none, or under another run", async () => {
    const question = await ask(COLOUR)
    const other = await client.create("/wait")
    const unknown = `${question.inputId.slice(0, -4)}0000`
    for (const [runId, inputId] of [
      [question.runId, unknown],
      [other.id, question.inputId]
    ] as const)
      assert.strictEqual(codeOf(await client.answer(runId, inputId, { decline: true })), "not_found")
    assert.strictEqual(codeOf(await client.ask("GET", `/v1/inputs/${unknown}`)), "not_found")
    await client.cancel(question.runId)
    await client.cancel(other.id)
  })

  it("that ends the turn keeps the run waiting, and its answer is the next turn", async () => {
    const question = await ask("/say one\n/ask-next Go on? | Yes | No")
    await question.reader.event("run.turn.ended")
    assert.deepInclude(await client.run(question.runId), { state: "waiting_input", turn: "idle" })
    await client.answer(question.runId, question.inputId, { answers: { "1": "1" } })
    assert.strictEqual((await ended(question))?.type, "run.completed")
    assert.deepStrictEqual(spokenTexts(question), ["one", 'answered {"1":"1"}'])
    const turns = question.reader.events.filter(({ type }) => type === "run.turn.started")
    assert.deepStrictEqual(
      turns.map(({ payload }) => [payload["turn"], payload["by"]]),
      [[2, "message"]]
    )
  })

  it("that ended the turn and is declined lets the result count", async () => {
    const question = await ask("/say one\n/ask-next Go on? | Yes | No")
    await question.reader.event("run.turn.ended")
    await client.answer(question.runId, question.inputId, { decline: true })
    const last = await ended(question)
    assert.deepInclude(last?.payload, { text: "one" })
    assert.strictEqual(last?.type, "run.completed")
  })
})

describe("A plan", () => {
  it("that is approved in a run that only plans ends the run with the plan", async () => {
    for (const mode of ["plan", "read_only"] as const) {
      const question = await ask("/plan 1. Read\\n2. Write\n/say not reached", mode)
      const answer = await client.answer(question.runId, question.inputId, {
        approve: true,
        mode: "auto_edit"
      })
      assert.strictEqual(answer.status, 200, answer.text)
      const last = await ended(question)
      assert.strictEqual(last?.type, "run.completed", mode)
      assert.deepInclude(last?.payload, { text: "1. Read\n2. Write" })
      assert.deepInclude(resolution(question), {
        state: "answered",
        approved: true,
        mode: "auto_edit",
        by: "local"
      })
      assert.notInclude(spokenTexts(question), "not reached")
    }
  })

  it("that is approved elsewhere, or sent back, is answered and the run continues", async () => {
    const approved = await ask("/plan Do it\n/say on", "ask")
    await client.answer(approved.runId, approved.inputId, { approve: true })
    await ended(approved)
    assert.deepStrictEqual(spokenTexts(approved), ["approved", "on"])
    const returned = await ask("/plan Do it\n/say on", "plan")
    await client.answer(returned.runId, returned.inputId, { approve: false, comment: "shorter" })
    await ended(returned)
    assert.deepStrictEqual(spokenTexts(returned), ["returned (shorter)", "on"])
    assert.deepInclude(resolution(returned), { approved: false, comment: "shorter" })
  })

  it("needs a decision, and no answers", async () => {
    const question = await ask("/plan Do it", "plan")
    const refused = await client.answer(question.runId, question.inputId, { answers: {} })
    assert.deepStrictEqual(issuesOf(refused), ["answers"])
    await client.cancel(question.runId)
  })

  it("of any length is shown, and whole in an artifact", async () => {
    const question = await ask(`/plan ${"step ".repeat(20_000)}`, "plan")
    const { plan = "" } = await client.input(question.inputId)
    assert.isBelow(plan.length, 100_000)
    const artifact = question.reader.events.find(({ type }) => type === "run.artifact.ready")
    assert.deepInclude(artifact?.payload, { name: "plan.md" })
    await client.cancel(question.runId)
  })
})

describe("A secret", () => {
  const secret = "correct horse battery"

  const storedBytes = (): string =>
    readdirSync(edge.home)
      .filter((name) => name.startsWith("edge.db"))
      .map((name) => readFileSync(join(edge.home, name)).toString("latin1"))
      .join("")

  it("reaches the runtime, sealed or plain, and nothing that is stored or shown", async () => {
    for (const isSealed of [true, false]) {
      const question = await ask("/secret The password?")
      const { sealingKey = "" } = await client.input(question.inputId)
      assert.isNotEmpty(sealingKey)
      const value = isSealed ? await sealValue(sealingKey, question.inputId, secret) : secret
      const answer = await client.answer(
        question.runId,
        question.inputId,
        { answers: { "1": value } },
        { "idempotency-key": `secret-${isSealed}` }
      )
      assert.strictEqual(answer.status, 200, answer.text)
      assert.notInclude(answer.text, secret)
      assert.strictEqual((await ended(question))?.type, "run.completed")
      assert.strictEqual(readFileSync(join(edge.workspace, "secret.txt"), "utf8"), secret)
      assert.deepStrictEqual(spokenTexts(question), [`received ${secret.length} characters: [redacted]`])
      assert.notInclude(JSON.stringify(question.reader.events), secret)
      assert.deepStrictEqual(resolution(question)?.["answers"], { "1": {} } as never)
      assert.notInclude(storedBytes(), secret)
    }
  })

  it("that was sealed for another question is refused, and the question stays open", async () => {
    const question = await ask("/secret The password?")
    const { sealingKey = "" } = await client.input(question.inputId)
    const value = await sealValue(sealingKey, "inq_00000000000000000000000000", secret)
    const refused = await client.answer(question.runId, question.inputId, { answers: { "1": value } })
    assert.deepStrictEqual(issuesOf(refused), ["answers.1"])
    assert.strictEqual((await client.input(question.inputId)).state, "pending")
    await client.cancel(question.runId)
  })
})

const detailsOf = (answer: { readonly body: unknown }) =>
  (answer.body as { readonly details: Record<string, unknown> }).details // an error object
const issuesOf = (answer: { readonly body: unknown }) =>
  (detailsOf(answer)["issues"] as ReadonlyArray<{ readonly path: string }>).map(({ path }) => path)
