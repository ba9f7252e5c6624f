import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { answerIssues, plainSecretIssues } from "../../src/input/AnswerCheck.ts"
import {
  type AnswerValue,
  InputAnswers,
  type Question,
  type RequestedInput
} from "../../src/input/InputRequest.ts"

const choice: Question = {
  id: "colour",
  text: "Which colour?",
  kind: "choice",
  options: [
    { id: "red", label: "Red" },
    { id: "blue", label: "Blue" }
  ]
}
const requestOf = (...questions: ReadonlyArray<Question>): RequestedInput => ({
  kind: "question",
  title: "Some questions",
  questions
})
const issuesOf = (question: Question, value: AnswerValue) =>
  answerIssues(requestOf(question), { answers: { [question.id]: value } }).map(({ message, path }) => ({
    path,
    message
  }))
const isValid = (question: Question, value: AnswerValue): boolean => issuesOf(question, value).length === 0

describe("answerIssues", () => {
  it("accepts an option of a choice, and refuses others", () => {
    assert.isTrue(isValid(choice, "blue"))
    assert.deepStrictEqual(issuesOf(choice, "Blue"), [
      { path: "answers.colour", message: "There is no such option." }
    ])
  })

  it("accepts several options only where the question allows them", () => {
    const several = { ...choice, multiple: true }
    assert.isTrue(isValid(several, ["red", "blue"]))
    assert.isFalse(isValid(choice, ["red"]))
    assert.isFalse(isValid(several, ["red", "red"]))
    assert.isFalse(isValid(several, ["red", "green"]))
  })

  it("accepts a text of the person only where the question allows it, next to options too", () => {
    const open = { ...choice, allowsOther: true, multiple: true }
    assert.isTrue(isValid(open, { other: "green" }))
    assert.isTrue(isValid(open, ["red", { other: "green" }]))
    assert.isFalse(isValid(open, { other: "  " }))
    assert.isFalse(isValid(choice, { other: "green" }))
  })

  it("requires an answer to each question that is not optional", () => {
    const optional: Question = { id: "note", text: "A note?", kind: "text", required: false }
    assert.deepStrictEqual(
      answerIssues(requestOf(choice, optional), { answers: {} }).map(({ path }) => path),
      ["answers.colour"]
    )
    assert.deepStrictEqual(answerIssues(requestOf(choice, optional), { answers: { colour: "red" } }), [])
  })

  it("checks numbers against their limits", () => {
    const count: Question = { id: "n", text: "How many?", kind: "number", integer: true, min: 1, max: 3 }
    assert.isTrue(isValid(count, 2))
    for (const value of [0, 4, 1.5, "2", true]) assert.isFalse(isValid(count, value))
  })

  it("checks the length of a text in characters", () => {
    const name: Question = { id: "t", text: "Name?", kind: "text", min: 2, max: 3 }
    assert.isTrue(isValid(name, "👍👍"))
    assert.isFalse(isValid(name, "a"))
    assert.isFalse(isValid(name, "abcd"))
  })

  it("takes only yes or no for a boolean", () => {
    const sure: Question = { id: "b", text: "Sure?", kind: "boolean" }
    assert.isTrue(isValid(sure, false))
    assert.isFalse(isValid(sure, "yes"))
  })

  it("takes a sealed value only for a secret", () => {
    const sealed = { sealed: { key: "AA", iv: "AA", data: "AA" } }
    const token: Question = { id: "s", text: "Token?", kind: "text", secret: true }
    assert.isTrue(isValid(token, sealed))
    assert.isFalse(isValid({ ...token, secret: false }, sealed))
  })

  it("refuses an answer to a question that was not asked, without repeating its name", () => {
    const issues = answerIssues(requestOf(choice), { answers: { colour: "red", "secret-name": "x" } })
    assert.strictEqual(issues.length, 1)
    assert.notInclude(JSON.stringify(issues), "secret-name")
  })

  it("approves plans only, and answers a plan only by a decision", () => {
    const plan: RequestedInput = { kind: "plan", title: "Plan", plan: "1." }
    assert.deepStrictEqual(answerIssues(plan, { approve: true }), [])
    assert.deepStrictEqual(
      answerIssues(plan, { answers: {} }).map(({ path }) => path),
      ["answers"]
    )
    assert.deepStrictEqual(
      answerIssues(requestOf(choice), { approve: true }).map(({ path }) => path),
      ["approve"]
    )
  })

  it("lets anyone decline anything", () => {
    assert.deepStrictEqual(answerIssues(requestOf(choice), { decline: true }), [])
  })

  it.prop("never repeats a value that was sent", [Arbitrary.schema(InputAnswers)], ([answers]) => {
    const shown = JSON.stringify(answerIssues(requestOf(choice), { answers }))
    for (const value of Object.values(answers)) {
      if (typeof value === "string" && value.length > 12) assert.notInclude(shown, value)
    }
  })

  it.prop(
    "accepts a choice exactly if its option exists",
    [Schema.Literals(["red", "blue", "Red", "", "constructor", "__proto__"])],
    ([value]) => assert.strictEqual(isValid(choice, value), value === "red" || value === "blue")
  )
})

describe("plainSecretIssues", () => {
  it("asks for a seal only of answers that were given, with ids of any text", () => {
    const secrets = ["constructor", "toString", "__proto__"].map(
      (id) => ({ id, text: "Token", kind: "text", secret: true, required: false }) as const
    )
    const request = requestOf(...secrets)
    assert.deepStrictEqual(plainSecretIssues(request, { answers: {} }), [])
    const plain = Object.fromEntries(secrets.map(({ id }) => [id, "a token"]))
    assert.strictEqual(plainSecretIssues(request, { answers: plain }).length, 3)
  })
})
