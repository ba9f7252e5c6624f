import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { ChatQuestion } from "../../src/chat/ChatAnswers.ts"
import type { PendingQuestion } from "../../src/chat/ChatTurns.ts"
import { requestOf, colour, name, plan, token, tools } from "../question/Questions.ts"

const inputId = "inq_01K00000000000000000000001"
const pending = (request: RequestedInput): PendingQuestion => ({
  runId: "run_01K00000000000000000000001" as RunId,
  mode: "plan",
  block: {
    kind: "input",
    seq: 5,
    at: "2026-01-01T00:00:00.000Z",
    inputId,
    request,
    expiresAt: undefined,
    state: "pending",
    resolution: undefined
  }
})

/** A question that was drawn at 0, and lines that are typed later. */
const shown = (request: RequestedInput, count = 1) => {
  const question = new ChatQuestion()
  const next = pending(request)
  question.shown(next.block, 0)
  const type = (line: string, at = 1_000) => question.submit(next, count, line, at)
  return { question, next, type, prompt: () => question.prompt(next, count) }
}

const answerOf = (outcome: ReturnType<ChatQuestion["submit"]>) => outcome?.answered?.answer

describe("ChatQuestion", () => {
  it("takes a number as the answer", () => {
    const { type } = shown(requestOf(colour))
    assert.deepStrictEqual(type("2")?.answered, {
      id: inputId as never,
      answer: { answers: { colour: "blue" } }
    })
  })

  it("does not take what was typed before the question could be read", () => {
    const { type } = shown(requestOf(colour))
    assert.isUndefined(answerOf(type("2", 100)))
    assert.isDefined(type("2", 100)?.warning)
    const named = shown(requestOf(name))
    named.type("Corral", 100)
    assert.isUndefined(answerOf(named.type("y", 100)))
    assert.isDefined(answerOf(named.type("y")))
  })

  it("offers an ordinary text as the answer, and never takes it by itself", () => {
    const { prompt, type } = shown(requestOf(name))
    assert.deepStrictEqual(type("Corral"), {})
    assert.include(prompt(), "Answer the question with this text?")
    assert.isDefined(type("hm")?.warning)
    assert.deepStrictEqual(answerOf(type("y")), { answers: { name: "Corral" } })
  })

  it("sends the text as a message if the user says so", () => {
    const { type } = shown(requestOf(tools))
    type("what do they do?")
    assert.deepStrictEqual(type("n"), { message: "what do they do?" })
  })

  it("gives the text back after Ctrl-C", () => {
    const { question, type } = shown(requestOf(name))
    type("Corral")
    assert.isTrue(question.isCancellable)
    assert.deepStrictEqual(question.cancel(), { nextText: "Corral" })
    assert.isFalse(question.isCancellable)
  })

  it("leaves messages alone: several questions, no text, commands", () => {
    assert.isUndefined(shown(requestOf(name), 2).type("Corral"))
    assert.isUndefined(shown(requestOf(colour)).type("which is nicer?"))
    assert.isUndefined(shown(requestOf(name)).type("/stop"))
    assert.isUndefined(shown(requestOf(name)).type("!hurry"))
    assert.isUndefined(shown(plan).type("what about tests?"))
  })

  it("decides a plan", () => {
    assert.deepStrictEqual(answerOf(shown(plan).type("y auto_edit")), { approve: true, mode: "auto_edit" })
    assert.deepStrictEqual(answerOf(shown(plan).type("n Test first")), {
      approve: false,
      comment: "Test first"
    })
  })

  it("hides a secret, and takes it only after /answer", () => {
    const { next, question, type } = shown(requestOf(token))
    assert.isUndefined(type("hello there"))
    assert.isDefined(question.answerWith(next, "s3cret").warning)
    question.answerWith(next, "")
    assert.isTrue(question.isHidden)
    assert.deepStrictEqual(answerOf(type("/s3cret")), { answers: { token: "/s3cret" } })
    assert.isFalse(question.isHidden)
  })

  it("answers with the text of /answer, and skips with /skip", () => {
    const { next, question } = shown(requestOf(tools))
    assert.deepStrictEqual(answerOf(question.answerWith(next, "docs")), {
      answers: { tools: [{ other: "docs" }] }
    })
    assert.deepStrictEqual(answerOf(question.decline(next)), { decline: true })
  })
})
